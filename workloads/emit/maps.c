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

/* MOST: what a text of the truth can hold. LINE: a path of PATH_MAX, escaped, in the worst case. */
enum { MOST = 24 << 16, LINE = 17 << 10, RARER = 50 };
static const uint64_t apart = 20000000; /* ns */

/* Memory of its own would be a mapping more, and only one thread reads at a time. */
static struct {
	pthread_mutex_t lock;
	uint64_t marked, cost; /* the last mark: when, and how long it took */
	char text[MOST + LINE + 1];
} maps = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* "START-END r-xp ..." */
static bool is_executable(const char *line, const char *end)
{
	const char *prot = memchr(line, ' ', end - line);

	return prot && end - prot > 3 && prot[3] == 'x';
}

/* Reads into maps.text, line by line, what is executable. 0 or -errno. */
static int read_lines(int fd)
{
	size_t kept = 0, used = 0;

	for (;;) {
		ssize_t got = read(fd, maps.text + used, sizeof(maps.text) - 1 - used);
		const char *line = maps.text + kept, *end;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		used += got;
		while ((end = memchr(line, '\n', maps.text + used - line))) {
			size_t size = end + 1 - line;

			if (is_executable(line, end)) {
				memmove(maps.text + kept, line, size);
				kept += size;
			}
			line = end + 1;
		}
		/* The beginning of a line, whose rest follows. */
		memmove(maps.text + kept, line, maps.text + used - line);
		used = kept + (maps.text + used - line);
		if (kept >= MOST)
			return -E2BIG;
	}
	maps.text[kept] = '\0';
	return 0;
}

/* By the thread: the maps of a process whose main thread has left are empty. */
static int open_maps(void)
{
	int proc = jp_truth_outer_proc();

	return proc < 0 ? open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC)
			: openat(proc, "thread-self/maps", O_RDONLY | O_CLOEXEC);
}

/* With the lock held. Without a mark a process is not judged, and the case an ERROR. */
static void mark(void)
{
	jp_cleanup_close int fd = open_maps();
	uint64_t before = jp_clock_now();
	int ret = fd < 0 ? -errno : read_lines(fd);
	uint64_t after = jp_clock_now();

	if (ret)
		fprintf(stderr, "jitproof workload: its own maps: %s\n", strerror(-ret));
	else
		jp_truth_maps(before, after, maps.text);
	maps.marked = jp_clock_now();
	maps.cost = maps.marked - before;
}

void jp_maps_mark(void)
{
	pthread_mutex_lock(&maps.lock);
	mark();
	pthread_mutex_unlock(&maps.lock);
}

void jp_maps_mark_seldom(void)
{
	uint64_t since;

	pthread_mutex_lock(&maps.lock);
	since = jp_clock_now() - maps.marked;
	if (since > apart && since > maps.cost * RARER)
		mark();
	pthread_mutex_unlock(&maps.lock);
}

void jp_maps_forked(void)
{
	pthread_mutex_init(&maps.lock, NULL);
}
