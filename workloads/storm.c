// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/format/truth/write.h"
#include "harness/base/excuse.h"
#include "workloads/emit/program.h"
#include "workloads/emit/thread.h"
#include "workloads/emit/workload.h"

/* Fills ring buffers with records next to judged code: pages without code become executable again
 * and again, and processes exit at once. About the pages, the truth states only that they were
 * executable at some times. */
static struct {
	unsigned acts, forks,
		threads; /* @acts, @forks: per second; 0: acts at full speed, no forks */
	atomic_ullong nr_acts_done, nr_forked;
} storm = {.acts = 10000, .threads = 1};

/* Makes @page executable and then not executable. The kernel records only the first mprotect().
 * Returns 0 or -errno. */
static int toggle_page(unsigned char *page, size_t size)
{
	return mprotect(page, size, PROT_READ | PROT_EXEC) || mprotect(page, size, PROT_READ)
		       ? -errno
		       : 0;
}

/* Returns a timerfd with a tick per millisecond, or -1 on failure: then acts run at full speed. */
static int open_ticker(void)
{
	const struct itimerspec each = {{0, 1000000}, {0, 1000000}};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	if (fd >= 0)
		timerfd_settime(fd, 0, &each, NULL);
	return fd;
}

/* Waits for the timer. Returns the milliseconds since the last call, at least 1. */
static uint64_t read_ticks(int fd)
{
	uint64_t count = 0;

	return read(fd, &count, sizeof(count)) == sizeof(count) ? count : 1;
}

static void *make_mappings(void *context)
{
	size_t size = sysconf(_SC_PAGESIZE);
	/* Inaccessible pages on either side keep the page from merging with another mapping. */
	unsigned char *page = mmap(NULL, 3 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t nr_owed = 0, batch = 1000, before = jp_clock_now(), after;
	int timer = storm.acts ? open_ticker() : -1;

	while (page != MAP_FAILED && !jp_handshake_is_stopping()) {
		uint64_t i = 0;

		if (storm.acts) {
			/* @nr_owed: acts that are due, in thousandths. */
			nr_owed += read_ticks(timer) * (storm.acts / storm.threads);
			batch = nr_owed / 1000;
			nr_owed %= 1000;
		}
		while (i < batch && !toggle_page(page + size, size))
			i++;
		atomic_fetch_add(&storm.nr_acts_done, i);
	}
	/* Recording each act would fill the truth. */
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

static void *make_forks(void *context)
{
	int timer = open_ticker();
	uint64_t nr_owed = 0;

	while (!jp_handshake_is_stopping()) {
		nr_owed += read_ticks(timer) * storm.forks;
		for (; nr_owed >= 1000 && !jp_handshake_is_stopping(); nr_owed -= 1000) {
			const struct jp_truth_task_ids self = jp_truth_get_own_ids();
			uint64_t before = jp_clock_now();
			pid_t pid = fork();

			if (!pid) {
				jp_truth_process_start(before, JP_START_FORK, self, 0);
				jp_truth_process_exit();
				_exit(0);
			}
			if (pid <= 0 || waitpid(pid, NULL, 0) != pid)
				continue;
			jp_truth_task_released(pid, pid);
			atomic_fetch_add(&storm.nr_forked, 1);
		}
	}
	if (timer >= 0)
		close(timer);
	return NULL;
}

static int start_judged_code(struct jp_program *program)
{
	struct jp_plan plan = JP_PLAN();

	plan.protect = plan.instead = JP_PROTECT_RWX;
	return jp_program_make(program, &plan)
		       ?: jp_path_run_thread(program->paths, program->nr_paths);
}

static int run(int argc, char **argv)
{
	struct jp_program program;
	pthread_t threads[65];
	unsigned started = 0;
	int ret = start_judged_code(&program);
	uint64_t began = jp_clock_now();

	while (!ret && started < storm.threads + !!storm.forks) {
		ret = jp_thread_make(&threads[started],
				     started < storm.threads ? make_mappings : make_forks, NULL);
		started += !ret;
	}
	ret = jp_path_serve_handshake(argv[0], ret, NULL, NULL);
	for (unsigned i = 0; i < started; i++)
		jp_thread_join(threads[i], NULL);
	printf("%llu mappings, %llu forks in %.3f s\n", storm.nr_acts_done, storm.nr_forked,
	       (jp_clock_now() - began) / 1e9);
	return ret;
}

static const struct jp_option options[] = {
	{"--acts", .value = "N", .number = &storm.acts, .max = 100000000,
	 .help = "mapping records a second, 0: as many as it can (default: 10000)"},
	{"--threads", .value = "N", .number = &storm.threads, .min = 1, .max = 64,
	 .help = "threads that make mapping records (default: 1)"},
	{"--forks", .value = "N", .number = &storm.forks, .max = 100000,
	 .help = "processes a second that end at once (default: 0)"},
	{0}};

JP_DEFINE(workload, storm_workload) = {
	.name = "storm",
	.help = "code beside many forks and mappings, which the truth does not contain",
	.options = options,
	.run = run,
};

static const struct jp_excuse excuses[] = {
	{"storm.forks", "storm --forks=*", "broken.*", "kernel-walk dump-short", "processes.images",
	 "while the page of the stack is copied after a fork, nobody can read it"},
};
JP_REGISTER_ROWS(excuse, excuses);
