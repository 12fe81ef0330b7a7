// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/format/truth/write.h"
#include "workloads/emit/program.h"
#include "workloads/emit/thread.h"
#include "workloads/emit/workload.h"

/*
 * Noise beside code that is judged: pages that become executable again and again, which nobody
 * runs, and processes that end at once. It is there to fill rings: of the pages the truth has that
 * they were executable at times.
 */
static struct {
	unsigned acts, forks, threads; /* acts and forks: a second, 0: as fast as it goes, none */
	atomic_ullong done, forked;
} storm = {.acts = 10000, .threads = 1};

/* One record of the kernel: mprotect() tells of what becomes executable, and only then. */
static int act(unsigned char *page, size_t size)
{
	return mprotect(page, size, PROT_READ | PROT_EXEC) || mprotect(page, size, PROT_READ)
		       ? -errno
		       : 0;
}

/* Ticks each millisecond; -1 where there is none: then it is not paced. */
static int ticker(void)
{
	const struct itimerspec each = {{0, 1000000}, {0, 1000000}};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	if (fd >= 0)
		timerfd_settime(fd, 0, &each, NULL);
	return fd;
}

/* Milliseconds since it was last asked, one at least. */
static uint64_t ticks(int fd)
{
	uint64_t count = 0;

	return read(fd, &count, sizeof(count)) == sizeof(count) ? count : 1;
}

static void *blow(void *context)
{
	size_t size = sysconf(_SC_PAGESIZE);
	/* A neighbour on either side, so that it never becomes part of another mapping. */
	unsigned char *page = mmap(NULL, 3 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t owed = 0, batch = 1000, before = jp_clock_now(), after;
	int timer = storm.acts ? ticker() : -1;

	while (page != MAP_FAILED && !jp_handshake_stopping()) {
		uint64_t i = 0;

		if (storm.acts) {
			/* In thousandths: what the time that went by owes. */
			owed += ticks(timer) * (storm.acts / storm.threads);
			batch = owed / 1000;
			owed %= 1000;
		}
		while (i < batch && !act(page + size, size))
			i++;
		atomic_fetch_add(&storm.done, i);
	}
	/* Each act would fill the truth: at some time in between the page was executable. */
	after = jp_clock_now();
	if (page != MAP_FAILED) {
		jp_truth_map(before, after,
			     &(struct jp_truth_mapping){.addr = (uintptr_t)page + size,
							.len = size,
							.prot = JP_PROT_READ | JP_PROT_EXEC});
		jp_truth_unmap(before, after, (uintptr_t)page + size, size);
	}
	if (timer >= 0)
		close(timer);
	return NULL;
}

static void *fork_on(void *context)
{
	int timer = ticker();
	uint64_t owed = 0;

	while (!jp_handshake_stopping()) {
		owed += ticks(timer) * storm.forks;
		for (; owed >= 1000 && !jp_handshake_stopping(); owed -= 1000) {
			const struct jp_truth_task_ids self = jp_truth_self();
			uint64_t before = jp_clock_now();
			pid_t pid = fork();

			if (!pid) {
				jp_truth_process_start(before, JP_HOW_FORK, self, 0);
				jp_truth_process_exit();
				_exit(0);
			}
			if (pid <= 0 || waitpid(pid, NULL, 0) != pid)
				continue;
			jp_truth_gone(pid, pid);
			atomic_fetch_add(&storm.forked, 1);
		}
	}
	if (timer >= 0)
		close(timer);
	return NULL;
}

static int judged(struct jp_program *program)
{
	struct jp_plan plan = JP_PLAN();

	plan.protect = plan.instead = JP_PROTECT_RWX;
	return jp_program_make(program, &plan) ?: jp_path_thread(program->paths, program->nr_paths);
}

static int run(int argc, char **argv)
{
	struct jp_program program;
	pthread_t threads[65];
	unsigned started = 0;
	uint64_t began;
	int ret;

	ret = judged(&program);
	began = jp_clock_now();
	while (!ret && started < storm.threads + !!storm.forks) {
		ret = jp_thread_make(&threads[started], started < storm.threads ? blow : fork_on,
				     NULL);
		started += !ret;
	}
	ret = jp_path_serve(argv[0], ret, NULL, NULL);
	for (unsigned i = 0; i < started; i++)
		jp_thread_join(threads[i], NULL);
	printf("%llu mappings, %llu forks in %.3f s\n", storm.done, storm.forked,
	       (jp_clock_now() - began) / 1e9);
	return ret;
}

static const struct jp_option options[] = {
	{"--acts", .value = "N", .number = &storm.acts, .most = 100000000,
	 .help = "mapping records a second, 0: as many as it can (10000)"},
	{"--threads", .value = "N", .number = &storm.threads, .least = 1, .most = 64,
	 .help = "that make them (1)"},
	{"--forks", .value = "N", .number = &storm.forks, .most = 100000,
	 .help = "processes a second that end at once (0)"},
	{0}};

static const struct jp_workload storm_workload = {
	.name = "storm",
	.help = "code beside a storm of forks and of mapping records; these are not in the truth",
	.options = options,
	.run = run,
};
JP_REGISTER(workload, storm_workload);
