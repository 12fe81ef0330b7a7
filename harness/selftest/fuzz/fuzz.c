// SPDX-License-Identifier: GPL-2.0-only
#include "harness/selftest/fuzz/fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sanitizer/common_interface_defs.h>
#include <signal.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/base/file.h"
#include "harness/format/rundir/run_dir.h"

enum { MAX_SEEDS = 16, MAX_SIZE = 1 << 20, SECONDS = 10, HEAD = 192 };

#define CORPUS "harness/selftest/fuzz/corpus/"

struct bytes {
	unsigned char *pos;
	size_t size;
};

static struct bytes seeds[MAX_SEEDS], input;
static size_t nr_seeds;
static char folder[64], input_path[128];
static int input_fd, report_fd;
static unsigned long inputs;
static uint64_t state = 0x9e3779b97f4a7c15;

/*
 * Parsers must handle NULL for sizes that no machine has. All memory is bounded, so that an input
 * of some kilobytes cannot exhaust the machine.
 */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1:max_allocation_size_mb=1024:hard_rss_limit_mb=1024:"
	       "handle_abort=1";
}

const char *fuzz_folder(void)
{
	return folder;
}

static uint64_t draw_number(uint64_t limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return limit ? (state >> 11) % limit : 0;
}

static void die(const char *operation)
{
	dprintf(report_fd, "%s: %s\n", operation, strerror(errno));
	exit(EXIT_FAILURE);
}

/* Stores the input that killed the program in /tmp. */
static void keep_input(void)
{
	static bool is_stored;
	char path[96];
	int fd;

	if (is_stored ||
	    !inputs) /* after all inputs, report a leak that belongs to no single input */
		return;
	is_stored = true;
	snprintf(path, sizeof(path), "/tmp/jitproof-fuzz-%d-%lu", getpid(), inputs);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0 && write(fd, input.pos, input.size) == (ssize_t)input.size)
		dprintf(report_fd, "# input %lu of %zu bytes is kept as %s\n", inputs, input.size,
			path);
}

static void handle_alarm(int signal)
{
	dprintf(report_fd, "# the input takes longer than %d seconds\n", SECONDS);
	keep_input();
	jp_run_dir_remove(folder);
	_exit(EXIT_FAILURE);
}

static void feed_input(void)
{
	unsigned char *exact = malloc(input.size); /* so that ASan detects overruns */

	memcpy(exact, input.pos, input.size);
	if (pwrite(input_fd, input.pos, input.size, 0) != (ssize_t)input.size ||
	    ftruncate(input_fd, (off_t)input.size))
		die(input_path);
	inputs++;
	alarm(SECONDS);
	fuzz_one(input_path, exact, input.size);
	alarm(0);
	free(exact);
}

static void set_input(const struct bytes *seed)
{
	memcpy(input.pos, seed->pos, seed->size);
	input.size = seed->size;
}

static struct bytes load_file(const char *path)
{
	struct bytes bytes = {NULL, 0};

	bytes.pos = (unsigned char *)jp_file_read(path, MAX_SIZE, &bytes.size, NULL);
	if (!bytes.pos)
		die(path);
	return bytes;
}

static void feed_file(const char *path)
{
	struct bytes file = load_file(path);

	set_input(&file);
	free(file.pos);
	feed_input();
}

/* Truncates the seed to each of the first 256 sizes, then to about @count of the others. */
static void truncate_seed(const struct bytes *seed, unsigned int count)
{
	size_t step = seed->size / (count ? count : 1) + 1;

	for (size_t size = 0; size < seed->size; size += size < 256 ? 1 : step) {
		set_input(seed);
		input.size = size;
		feed_input();
		if (!fuzz_target.mend)
			continue;
		fuzz_target.mend(input.pos, input.size);
		feed_input();
	}
}

static uint64_t draw_extreme(void)
{
	static const uint64_t values[] = {
		0,
		1,
		7,
		8,
		0x7f,
		0x80,
		0xff,
		0x100,
		0x7fff,
		0x8000,
		0xffff,
		0x10000,
		0x7fffffff,
		0x80000000,
		UINT32_MAX,
		INT64_MAX,
		UINT64_MAX,
		(uint64_t)1 << 63,
		UINT64_MAX - 7,
		UINT64_MAX - 4095,
		UINT64_MAX - 511,
	};

	return values[draw_number(sizeof(values) / sizeof(*values))];
}

static void set_number(void)
{
	static const size_t sizes[] = {1, 2, 4, 8};
	size_t size = sizes[draw_number(4)], offset;
	uint64_t value = draw_number(2) ? draw_extreme() : input.size - 4 + draw_number(9);

	if (input.size < size)
		return;
	offset = draw_number(input.size - size + 1);
	if (draw_number(4)) /* changes the value by at most 8 */
		offset -= offset % size;
	if (draw_number(3) == 0) { /* up to 8 more or less */
		value = 0;
		memcpy(&value, input.pos + offset, size);
		value += draw_number(17) - 8;
	}
	memcpy(input.pos + offset, &value, size);
}

/* Removes @size bytes at @offset. */
static void cut_out(size_t offset, size_t size)
{
	memmove(input.pos + offset, input.pos + offset + size, input.size - offset - size);
	input.size -= size;
}

static void splice_seed(void)
{
	const struct bytes *seed_bytes = &seeds[draw_number(nr_seeds)];
	size_t size = 1 + draw_number(draw_number(4) ? 64 : 4096),
	       offset = draw_number(input.size + 1), start;
	bool insert = draw_number(2);

	if (size > seed_bytes->size)
		size = seed_bytes->size;
	start = draw_number(seed_bytes->size - size + 1);
	if (draw_number(2)) {
		start -= start % 8;
		offset -= offset % 8;
	}
	if (!insert && offset + size > input.size)
		return;
	if (insert) {
		if (input.size + size > MAX_SIZE)
			return;
		memmove(input.pos + offset + size, input.pos + offset, input.size - offset);
		input.size += size;
	}
	memcpy(input.pos + offset, seed_bytes->pos + start, size);
}

static void change_input(void)
{
	size_t size, offset;

	switch (draw_number(8)) {
	case 0:
	case 1:
		if (input.size)
			input.pos[draw_number(input.size)] ^= 1 << draw_number(8);
		break;
	case 2:
	case 3:
	case 4:
	case 5:
		set_number();
		break;
	case 6:
		splice_seed();
		break;
	default:
		size = 1 + draw_number(draw_number(4) ? 64 : 4096);
		if (size > input.size)
			break;
		offset = draw_number(input.size - size + 1);
		cut_out(offset - offset % 8 + size <= input.size ? offset - offset % 8 : offset,
			size);
		break;
	}
}

/* Writes each extreme value to each place of the input's head, where sizes, offsets and counts
 * are. */
static void try_extremes(const struct bytes *seed)
{
	static const uint64_t values[] = {0, 1, 0x7fffffff, UINT32_MAX, INT64_MAX, UINT64_MAX - 7};
	size_t head = seed->size < HEAD ? seed->size & ~7ul : HEAD;

	for (size_t size = 4; size <= 8; size += 4)
		for (size_t offset = 0; offset < head; offset += size)
			for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
				set_input(seed);
				memcpy(input.pos + offset, &values[i], size);
				feed_input();
			}
}

/* Feeds the inputs that once crashed a parser. */
static void try_corpus(const char *name)
{
	struct dirent **names;
	char path[512];
	int count;

	snprintf(path, sizeof(path), CORPUS "%s", name);
	count = scandir(path, &names, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		if (names[i]->d_name[0] != '.') {
			snprintf(path, sizeof(path), CORPUS "%s/%s", name, names[i]->d_name);
			feed_file(path);
		}
		free(names[i]);
	}
	if (count >= 0)
		free(names);
}

/* Fuzzes for @seconds, or, if 0, for the target's number of rounds. */
static void fuzz(unsigned int seconds)
{
	uint64_t end = jp_clock_now() + seconds * JP_NS_PER_S;

	for (size_t i = 0; i < nr_seeds; i++) {
		set_input(&seeds[i]);
		feed_input();
		truncate_seed(&seeds[i], fuzz_target.truncations);
		try_extremes(&seeds[i]);
	}
	for (unsigned long round = 0; seconds || round < fuzz_target.rounds; round++) {
		unsigned int changes = 1 + draw_number(draw_number(3) ? 4 : 32);

		if (seconds && jp_clock_now() >= end)
			break;
		set_input(&seeds[draw_number(nr_seeds)]);
		while (changes--)
			change_input();
		if (fuzz_target.mend && draw_number(4))
			fuzz_target.mend(input.pos, input.size);
		feed_input();
	}
}

static void load_seeds(void)
{
	for (; nr_seeds < MAX_SEEDS && fuzz_target.seeds[nr_seeds]; nr_seeds++)
		seeds[nr_seeds] = load_file(fuzz_target.seeds[nr_seeds]);
}

/* Discards the output of targets, but lets them write it: that code is fuzzed too. */
static void discard_output(void)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	report_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (null < 0 || report_fd < 0 || dup2(null, STDERR_FILENO) < 0 ||
	    dup2(null, STDOUT_FILENO) < 0)
		exit(EXIT_FAILURE);
	__sanitizer_set_report_fd((void *)(intptr_t)report_fd);
	close(null);
}

int main(int argc, char **argv)
{
	const char *seconds = getenv("FUZZ_SECONDS"), *home = getenv("TMPDIR");
	const char *base = strrchr(argv[0], '/'), *name = strstr(base ? base : argv[0], "fuzz_");
	int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);

	report_fd = STDERR_FILENO;
	snprintf(folder, sizeof(folder), "%.40s/jitproof-XXXXXX", home ? home : "/tmp");
	if (!name || out < 0 || !mkdtemp(folder))
		die(folder);
	snprintf(input_path, sizeof(input_path), "%s/input", folder);
	input_fd = open(input_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	input.pos = malloc(MAX_SIZE);
	if (input_fd < 0 || !input.pos)
		die(input_path);
	signal(SIGALRM, handle_alarm);
	__sanitizer_set_death_callback(keep_input);
	if (argc == 1)
		discard_output();
	for (int i = 1; i < argc; i++)
		feed_file(argv[i]);
	if (argc == 1) {
		load_seeds();
		/* A timed run searches for new inputs: seed it at random. */
		if (seconds && getrandom(&state, sizeof(state), 0) != sizeof(state))
			die("getrandom");
		try_corpus(name + 5);
		fuzz(seconds ? (unsigned int)atoi(seconds) : 0);
	}
	close(input_fd);
	jp_run_dir_remove(folder);
	for (size_t i = 0; i < nr_seeds; i++)
		free(seeds[i].pos);
	free(input.pos);
	dprintf(out, "ok 1 - %s: %lu inputs\n1..1\n", name + 5, inputs);
	close(out);
	inputs = 0;
	return 0;
}
