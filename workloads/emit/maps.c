// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/format/truth/write.h"

/* MOST: largest text in the truth, in bytes. LINE: longest line, with an escaped path of PATH_MAX.
 * RARER: jp_maps_record_seldom() uses at most 1/RARER of the time. */
enum { MOST = 24 << 16, LINE = 17 << 10, RARER = 50 };
static const uint64_t least_distance =
	20000000; /* ns between two marks of jp_maps_record_seldom() */

/* State of the last reading. It is static, because allocated memory would add a mapping. Only one
 * thread reads at a time. */
static struct {
	pthread_mutex_t lock;
	uint64_t marked, cost; /* end and duration of the last mark, ns */
	char text[MOST + LINE + 1];
} maps = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Returns whether @line, "START-END r-xp ...", is an executable mapping. */
static bool is_executable(const char *line, const char *end)
{
	const char *prot = memchr(line, ' ', end - line);

	return prot && end - prot > 3 && prot[3] == 'x';
}

/* Returns whether @line is a mapping of a file that begins at offset 0 of the file. */
static bool begins_file(const char *line, const char *end)
{
	static const char start[] = " 00000000 ";

	return memmem(line, end - line, start, sizeof(start) - 1) && memchr(line, '/', end - line);
}

/* Returns whether the truth needs @line. If the first segment of a file is executable, the program
 * loader first maps the whole file executable, and the capture records only that mapping: the next
 * lines, of other segments, show how far the file reached. *@began_file: the last executable line
 * began a file. */
static bool is_needed(const char *line, const char *end, bool *began_file)
{
	const bool executable = is_executable(line, end);

	/* The kernel may place its own [vdso] in a gap of a file. */
	if (executable && !memchr(line, '[', end - line))
		*began_file = begins_file(line, end);
	return executable || *began_file;
}

/* Reads the lines of executable mappings into maps.text. Returns 0 or -errno. */
static int read_executable_lines(int fd)
{
	bool began_file = false;
	size_t kept_size = 0, length = 0;

	for (;;) {
		ssize_t nr_read = read(fd, maps.text + length, sizeof(maps.text) - 1 - length);
		const char *line = maps.text + kept_size, *end;

		if (nr_read < 0 && errno == EINTR)
			continue;
		if (nr_read < 0)
			return -errno;
		if (!nr_read)
			break;
		length += nr_read;
		while ((end = memchr(line, '\n', maps.text + length - line))) {
			size_t size = end + 1 - line;

			if (is_needed(line, end, &began_file)) {
				memmove(maps.text + kept_size, line, size);
				kept_size += size;
			}
			line = end + 1;
		}
		/* Keep the beginning of a line that continues in the next read. */
		memmove(maps.text + kept_size, line, maps.text + length - line);
		length = kept_size + (maps.text + length - line);
		if (kept_size >= MOST)
			return -E2BIG;
	}
	maps.text[kept_size] = '\0';
	return 0;
}

/* /proc/PID/maps is empty once the main thread has exited. */
static int open_maps(void)
{
	int proc = jp_truth_get_outer_proc();

	return proc < 0 ? open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC)
			: openat(proc, "thread-self/maps", O_RDONLY | O_CLOEXEC);
}

/* Records the maps of this process. Call with the lock held. If it fails, the process lacks a mark,
 * so that the case becomes an ERROR. */
static void record_maps(void)
{
	jp_cleanup_close int fd = open_maps();
	uint64_t before = jp_clock_now();
	int ret = fd < 0 ? -errno : read_executable_lines(fd);
	uint64_t after = jp_clock_now();

	if (ret)
		fprintf(stderr, "jitproof workload: its own maps: %s\n", strerror(-ret));
	else
		jp_truth_maps(before, after, maps.text);
	maps.marked = jp_clock_now();
	maps.cost = maps.marked - before;
}

void jp_maps_record_all(void)
{
	pthread_mutex_lock(&maps.lock);
	record_maps();
	pthread_mutex_unlock(&maps.lock);
}

void jp_maps_record_seldom(void)
{
	uint64_t start_time;

	pthread_mutex_lock(&maps.lock);
	start_time = jp_clock_now() - maps.marked;
	if (start_time > least_distance && start_time > maps.cost * RARER)
		record_maps();
	pthread_mutex_unlock(&maps.lock);
}

/* Returns the number of lines of this process's maps; 0 if they cannot be read. */
static long count_lines(void)
{
	jp_cleanup_close int fd = open_maps();
	char text[4096];
	long count = 0;
	ssize_t nr_read;

	while (fd >= 0 && (nr_read = read(fd, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < nr_read; i++)
			count += text[i] == '\n';
	return count;
}

const char *jp_maps_describe_error(int error)
{
	/* The first system call to fail is mremap(), 5 mappings below the limit: commit
	 * ea2c3f6f5545 "mm,mremap: bail out earlier in mremap_to under map pressure" (5.0). */
	enum { RESERVED = 5 };
	static const char limit_path[] = "/proc/sys/vm/max_map_count";
	static _Thread_local char text[200];
	jp_cleanup_fclose FILE *file = error == ENOMEM ? fopen(limit_path, "re") : NULL;
	long limit, lines;

	if (!file || fscanf(file, "%ld", &limit) != 1)
		return strerror(error);
	lines = count_lines();
	if (lines < limit - RESERVED)
		return strerror(error);
	snprintf(text, sizeof(text),
		 "%s: /proc/self/maps has %ld lines, and vm.max_map_count is %ld; as root, write a "
		 "larger number to %s",
		 strerror(error), lines, limit, limit_path);
	return text;
}

void jp_maps_forked(void)
{
	pthread_mutex_init(&maps.lock, NULL);
}
