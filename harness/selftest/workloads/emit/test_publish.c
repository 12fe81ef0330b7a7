// SPDX-License-Identifier: GPL-2.0-only
/* Publishers write right and, on request, wrong jitdumps and perf maps, which our readers read
 * back; they never write to foreign files. */
#include <pthread.h>
#include <sys/wait.h>

#include "harness/format/jit/jitdump_read.h"
#include "harness/selftest/support/perf_map_of.h"
#include "harness/selftest/support/scratch.h"
#include "workloads/emit/publish.h"

enum { COUNT = 40, THREADS = 4 };

static unsigned char code[64];
static char dump[128], map[128]; /* paths of this process's files */

static void set_paths(void)
{
	snprintf(dump, sizeof(dump), "%s/jit-%d.dump", scratch_folder(), getpid());
	snprintf(map, sizeof(map), "%s/perf-%d.map", scratch_folder(), getpid());
}

static int publish(unsigned index)
{
	char name[32];
	struct jp_published published = {
		.name = name,
		.addr = 0x100000 + 64 * index,
		.size = 33 + index % 8, /* mostly no multiple of 8 */
		.code = code,
		.index = index,
		.unwinding = "eh_frame and header",
		.unwinding_size = 19,
		.unwinding_hdr_size = 6,
		.unwinding_mapped = 19,
	};

	snprintf(name, sizeof(name), "function%u", index);
	return jp_publish_load(&published);
}

static int publish_story(const char *publishers, const char *with)
{
	struct jp_published moved_code = {.addr = 0x200000, .size = 33, .index = 0};
	int ret = jp_publish_select_extras(with);

	ret = ret ? ret : jp_publish_begin(publishers, scratch_folder());
	for (unsigned i = 0; i < COUNT && !ret; i++)
		ret = publish(i);
	ret = ret ? ret : jp_publish_move(&moved_code, 0x100000);
	return ret ? ret : jp_publish_end();
}

/* What reading a jitdump back found: numbers of records, and which contents were right. */
struct found {
	unsigned nr_of_type[JP_JITDUMP_TYPES], nr_good, nr_backwards, debug_first, nr_unaligned;
	int end; /* last result of jp_jitdump_next() */
	uint32_t header;
	bool code_right, vma_right, lines_right;
};

static bool lines_are_right(const struct jp_jitdump_record *record)
{
	struct jp_jitdump_line line;
	size_t cursor = 0;
	unsigned count = 0;
	char file[64];

	snprintf(file, sizeof(file), "/jitproof/function%llu.jit",
		 (unsigned long long)(record->debug.addr - 0x100000) / 64);
	for (; jp_jitdump_next_line(record, &cursor, &line); count++)
		if (strcmp(line.file, file) || line.addr < record->debug.addr || line.line < 1)
			return false;
	return count == record->debug.count && count > 1;
}

static struct found read_dump(const char *path)
{
	struct jp_error err = {""};
	struct jp_jitdump *file = jp_jitdump_open(path, getuid(), &err);
	struct found counts = {.code_right = true, .vma_right = true, .lines_right = true};
	struct jp_jitdump_record record;
	uint64_t time = 0;
	bool debug = false;

	if (!check(file, "%s is a jitdump %s", path, err.text))
		return counts;
	counts.header = jp_jitdump_header(file)->total_size;
	while ((counts.end = jp_jitdump_next(file, &record, &err)) > 0) {
		char name[32];

		counts.nr_of_type[record.type]++;
		counts.nr_unaligned += record.offset % 8 != 0;
		if (record.type == JP_JITDUMP_DEBUG_INFO) {
			counts.lines_right &= lines_are_right(&record);
			debug = true;
		}
		if (record.type != JP_JITDUMP_LOAD)
			continue;
		counts.debug_first += debug;
		debug = false;
		counts.nr_backwards += record.time < time;
		time = record.time;
		snprintf(name, sizeof(name), "function%llu", (unsigned long long)record.load.index);
		counts.nr_good += !strcmp(record.load.name, name) &&
				  record.load.addr == 0x100000 + 64 * record.load.index &&
				  record.pid == (uint32_t)getpid();
		counts.code_right &= !memcmp(record.load.code, code, record.load.size);
		counts.vma_right &= record.load.vma == record.load.addr;
	}
	jp_jitdump_close(file);
	return counts;
}

/* Counts functions that the perf map has at their first byte, and at a later byte. Returns the
 * number of bad lines. */
static uint64_t count_in_map(unsigned *first, unsigned *nr_later)
{
	struct jp_perf_map *read = read_perf_map(map, -1, NULL);
	const uint64_t nr_bad = read ? jp_perf_map_bad_lines(read) : UINT64_MAX;

	*first = *nr_later = 0;
	for (unsigned i = 0; read && i < COUNT; i++) {
		const uint64_t addr = 0x100000 + 64 * i;
		char name[32];

		snprintf(name, sizeof(name), "function%u", i);
		for (unsigned offset = 0; offset <= 5; offset += 5) {
			const char *path = jp_perf_map_find(read, addr + offset);

			*(offset ? nr_later : first) += path && !strcmp(path, name);
		}
	}
	jp_perf_map_free(read);
	return nr_bad;
}

static void test_right_files(const char *publishers)
{
	unsigned first, nr_later;
	struct found counts;

	check(!publish_story("both", publishers), "jitdump and perf map are published with %s",
	      publishers);
	counts = read_dump(dump);
	check(!counts.end && counts.nr_good == COUNT &&
		      counts.nr_of_type[JP_JITDUMP_LOAD] == COUNT &&
		      counts.nr_of_type[JP_JITDUMP_MOVE] == 1 &&
		      counts.nr_of_type[JP_JITDUMP_CLOSE] == 1 &&
		      counts.nr_of_type[JP_JITDUMP_UNWINDING_INFO] == COUNT && counts.code_right &&
		      counts.vma_right && !counts.nr_backwards,
	      "the jitdump has all functions in order of time");
	check(counts.nr_of_type[JP_JITDUMP_DEBUG_INFO] ==
			      (strncmp(publishers, "debug", 5) ? 0 : COUNT) &&
		      counts.debug_first == counts.nr_of_type[JP_JITDUMP_DEBUG_INFO] &&
		      counts.lines_right,
	      "line entries precede the code if requested");
	check(!count_in_map(&first, &nr_later) && first == COUNT && nr_later == COUNT,
	      "the map has all");
}

static void test_wrong_dumps(void)
{
	struct jp_error err = {""};
	static const struct {
		const char *fault;
		unsigned nr_good, debug_first, nr_backwards;
		int end;
		uint32_t header;
		bool code, vma, closed;
	} faults[] = {
		{"jitdump:cut", COUNT, COUNT, 0, -EINVAL, 40, true, true, false},
		{"jitdump:zero-tail", COUNT, COUNT, 0, -EINVAL, 40, true, true, false},
		{"jitdump:no-padding", COUNT, COUNT, 0, 0, 40, true, true, true},
		{"jitdump:padded-code", COUNT, COUNT, 0, 0, 40, false, true, true},
		{"jitdump:vma0", COUNT, COUNT, 0, 0, 40, true, false, true},
		{"both:debug-after-load", COUNT, COUNT - 1, 0, 0, 40, true, true, true},
		{"jitdump:time-backwards", COUNT, COUNT, COUNT / 2, 0, 40, true, true, true},
		{"jitdump:silent-stop", 16, 16, 0, 0, 40, true, true, false},
		{"jitdump:long-header", COUNT, COUNT, 0, 0, 48, true, true, true},
		{"jitdump:marker-unmapped", COUNT, COUNT, 0, 0, 40, true, true, true},
		{"jitdump:marker-late", COUNT, COUNT, 0, 0, 40, true, true, true},
		{"jitdump:shared", COUNT, COUNT, 0, 0, 40, true, true, true},
		{"jitdump:arch-times", COUNT, COUNT, 0, 0, 40, true, true, true},
	};

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct found counts;

		check(!publish_story(faults[i].fault, "debug"), "%s is written", faults[i].fault);
		counts = read_dump(dump);
		check(counts.nr_good == faults[i].nr_good &&
			      counts.debug_first == faults[i].debug_first &&
			      counts.nr_backwards == faults[i].nr_backwards &&
			      counts.end == faults[i].end && counts.header == faults[i].header &&
			      counts.code_right == faults[i].code &&
			      counts.vma_right == faults[i].vma &&
			      !counts.nr_of_type[JP_JITDUMP_CLOSE] == !faults[i].closed,
		      "%s has this fault alone", faults[i].fault);
	}
	check(!publish_story("jitdump:version-2", "debug") &&
		      !jp_jitdump_open(dump, getuid(), &err) &&
		      strstr(err.text, "offset 4: expected version 1, found 2"),
	      "a header of version 2 is refused: %s", err.text);
	check(jp_publish_begin("jitdump:nonsense", scratch_folder()) == -EINVAL &&
		      jp_publish_begin("map:cut", scratch_folder()) == -EINVAL &&
		      jp_publish_begin("none:cut", scratch_folder()) == -EINVAL &&
		      jp_publish_begin("all", scratch_folder()) == -EINVAL &&
		      jp_publish_select_extras("debug,lines") == -EINVAL,
	      "unknown requests are refused");
	check(!jp_publish_begin("none", scratch_folder()) && !publish(1) && !jp_publish_extras() &&
		      !jp_publish_end(),
	      "none publishes nothing");
}

static void test_wrong_maps(void)
{
	static const struct {
		const char *fault;
		unsigned first, later, line; /* @line: length of the first line */
	} faults[] = {
		{"map:late", COUNT, COUNT, 19},
		{"map:empty", 0, 0, 0},
		{"map:partial", COUNT / 2, COUNT / 2, 19},
		{"map:entries", COUNT, 0, 18},
		{"map:prefix", COUNT, COUNT, 23},
		{"map:owner", COUNT, COUNT, 19},
	};
	unsigned first, nr_later;
	struct stat st;

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		const bool owner = !strcmp(faults[i].fault, "map:owner");
		char line[64] = "";
		FILE *file;

		if (owner && getuid()) {
			check(publish_story(faults[i].fault, "debug") == -EPERM,
			      "chown needs root");
			continue;
		}
		check(!publish_story(faults[i].fault, "debug"), "%s is written", faults[i].fault);
		count_in_map(&first, &nr_later);
		file = fopen(map, "re");
		if (file && !fgets(line, sizeof(line), file))
			line[0] = '\0';
		check(first == faults[i].first && nr_later == faults[i].later &&
			      strcspn(line, "\n") == faults[i].line && file &&
			      !fstat(fileno(file), &st) && owner == (st.st_uid != getuid()),
		      "%s has this fault alone", faults[i].fault);
		if (file)
			fclose(file);
	}
	unlink(map);
	check(!jp_publish_begin("map:late", scratch_folder()) && !publish(0) && !stat(map, &st) &&
		      !st.st_size && !jp_publish_end() && !stat(map, &st) && st.st_size,
	      "a late perf map is empty until the end");
	unlink(map);
}

/* Returns how often the file is mapped executable. */
static int count_markers(const char *path)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	int count = 0;

	while (maps && fgets(line, sizeof(line), maps))
		count += strstr(line, path) && strstr(line, " r-xp ");
	if (maps)
		fclose(maps);
	return count;
}

static void *publish_some(void *first)
{
	for (unsigned i = 0; i < COUNT; i++)
		if (publish((uintptr_t)first + i))
			return first;
	return NULL;
}

static void test_publishing_threads(void)
{
	pthread_t threads[THREADS];
	void *failed = NULL;
	struct found counts;

	check(!jp_publish_begin("both", scratch_folder()), "threads begin to publish");
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, publish_some, (void *)(1 + i * COUNT));
	for (int i = 0; i < THREADS; i++) {
		void *ret;

		pthread_join(threads[i], &ret);
		failed = ret ? ret : failed;
	}
	jp_publish_end();
	counts = read_dump(dump);
	check(!failed && counts.nr_good == THREADS * COUNT && !counts.end && !counts.nr_backwards,
	      "records of several threads are whole and in order");
}

static void test_publishing_after_fork(void)
{
	struct found counts;
	int status = -1;
	pid_t child;

	check(!jp_publish_begin("both", scratch_folder()) && !publish(1),
	      "a process publishes, then forks");
	fflush(stdout);
	child = fork();
	if (!child) {
		char parents[sizeof(dump)];
		bool passed = !jp_publish_forked() && !publish(2) && !publish(3);

		strcpy(parents, dump);
		set_paths();
		passed = passed && count_markers(dump) && !count_markers(parents) &&
			 !jp_publish_end();
		_exit(passed && read_dump(dump).nr_good == 2 ? 0 : 1);
	}
	waitpid(child, &status, 0);
	check(!status, "a forked child has its own jitdump and marker");
	check(!publish(4) && !jp_publish_end(), "the parent continues to publish");
	counts = read_dump(dump);
	check(counts.nr_good == 2 && !counts.end, "the parent's jitdump has its own records alone");
}

static void check_refusal(const char *label, const char *publishers, const char *path)
{
	struct stat before, after;

	lstat(path, &before);
	check(jp_publish_begin(publishers, scratch_folder()) < 0 && !lstat(path, &after) &&
		      before.st_ino == after.st_ino && before.st_size == after.st_size,
	      "%s is refused and unchanged", label);
	remove(path);
}

static void test_foreign_files(void)
{
	const char *victim = scratch_path("victim");
	struct stat stale, new_stat;
	int fd;

	check(scratch_write(victim, "precious", 8), "a foreign file is made");
	remove(dump);
	remove(map);
	check(!symlink(victim, dump) && !symlink(victim, map), "symbolic links to it are made");
	check_refusal("a link at the jitdump's place", "jitdump", dump);
	check_refusal("a link at the perf map's place", "map", map);
	check(!stat(victim, &new_stat) && new_stat.st_size == 8, "the foreign file is unchanged");
	check(!mkfifo(dump, 0600) && !mkfifo(map, 0600), "FIFOs are made");
	check_refusal("a FIFO at the jitdump's place", "jitdump", dump);
	check_refusal("a FIFO at the perf map's place", "map", map);
	fd = open(dump, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (getuid() == 0 && !fchown(fd, 1, 1))
		check_refusal("another user's file at the jitdump's place", "jitdump", dump);
	close(fd);
	/* Make a file of an earlier process with the same pid. */
	fd = open(map, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	check(write(fd, "stale", 5) == 5 && !fstat(fd, &stale), "a stale file is made");
	check(!jp_publish_begin("map", scratch_folder()) && !lstat(map, &new_stat) &&
		      new_stat.st_size == 0 && new_stat.st_ino != stale.st_ino &&
		      (new_stat.st_mode & 0777) == 0600 && !jp_publish_end(),
	      "a stale file is replaced by a new one");
	close(fd);
}

TEST(publish)
{
	set_paths();
	for (size_t i = 0; i < sizeof(code); i++)
		code[i] = i;
	test_right_files("unwinding");
	test_right_files("debug,unwinding-apart");
	test_right_files("debug-short");
	test_wrong_dumps();
	test_wrong_maps();
	test_publishing_threads();
	test_publishing_after_fork();
	test_foreign_files();
}
