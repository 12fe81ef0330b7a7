// SPDX-License-Identifier: GPL-2.0-only
/* The main thread exits first, so that /proc/PID/maps is empty although the process continues.
 * Other threads start and exit; each maps code, runs it and unmaps it. */
#include <pthread.h>
#include <stdlib.h>

#include "harness/format/truth/write.h"
#include "workloads/emit/maps.h"
#include "workloads/emit/program.h"
#include "workloads/emit/publish.h"
#include "workloads/emit/thread.h"
#include "workloads/emit/workload.h"

enum { MOST = 64 };

static struct {
	struct jp_plan plan;
	unsigned threads, runs;
	pthread_mutex_t mapping; /* held while a thread changes mappings */
	pthread_t main;
} churn = {.plan = JP_PLAN(.protect = JP_PROTECT_FLIP),
	   .threads = 4,
	   .runs = 20,
	   .mapping = PTHREAD_MUTEX_INITIALIZER};

/* Unmaps @program while no other thread changes mappings: another thread could map the same address
 * at the same time, and the truth would not show which operation came first. */
static void end_program(struct jp_program *program)
{
	pthread_mutex_lock(&churn.mapping);
	jp_program_end(program);
	pthread_mutex_unlock(&churn.mapping);
}

static void *run_worker(void *context)
{
	struct jp_program program;
	int ret;

	pthread_mutex_lock(&churn.mapping);
	ret = jp_program_make(&program, &churn.plan);
	pthread_mutex_unlock(&churn.mapping);
	for (unsigned i = 0; !ret && i < churn.runs; i++)
		jp_path_run(&program.paths[i % program.nr_paths]);
	if (!ret)
		end_program(&program);
	return (void *)(intptr_t)ret;
}

/* Keeps churn.threads workers running: a new worker replaces the oldest. */
static void *replace_workers(void *context)
{
	pthread_t workers[MOST];
	unsigned alive = 0, oldest = 0;
	intptr_t ret = 0;

	while (alive || !jp_handshake_is_stopping()) {
		void *result;

		if (alive == churn.threads || jp_handshake_is_stopping() || ret) {
			jp_thread_join(workers[(oldest + churn.threads - alive) % churn.threads],
				       &result);
			alive--;
			ret = ret ? ret : (intptr_t)result;
		}
		if (ret && !alive)
			break;
		if (jp_handshake_is_stopping() || ret)
			continue;
		ret = jp_thread_make(&workers[oldest], run_worker, NULL);
		if (!ret) {
			oldest = (oldest + 1) % churn.threads;
			alive++;
		}
		jp_maps_record_seldom();
	}
	if (ret)
		exit(jp_handshake_status("thread_churn", ret));
	return NULL;
}

/* Runs the process once the main thread has exited. */
static void *run_without_main(void *context)
{
	pthread_t turner;
	int ret;

	pthread_join(churn.main, NULL); /* the main thread must have exited before "ready" */
	ret = jp_thread_make(&turner, replace_workers, NULL);
	if (ret)
		exit(jp_handshake_status("thread_churn", ret));
	jp_handshake(NULL, NULL);
	jp_thread_join(turner, NULL);
	jp_maps_record_all();
	ret = jp_publish_end();
	jp_truth_process_exit();
	exit(ret ? EXIT_FAILURE : EXIT_SUCCESS);
}

static int run(int argc, char **argv)
{
	pthread_t thread;
	int ret;

	if (jp_handshake_skip_denied())
		return EXIT_SUCCESS;
	churn.main = pthread_self();
	ret = jp_thread_make(&thread, run_without_main, NULL);
	if (ret)
		return jp_handshake_status("thread_churn", ret);
	jp_truth_thread_exit();
	pthread_exit(NULL);
}

static const struct jp_option options[] = {
	{"--threads", .value = "N", .number = &churn.threads, .min = 1, .max = MOST,
	 .help = "threads at a time, at most 64 (default: 4)"},
	{"--runs", .value = "N", .number = &churn.runs, .min = 1,
	 .help = "how often each thread runs a path (default: 20)"},
	{0}};

JP_DEFINE(workload, thread_churn) = {
	.name = "thread_churn",
	.help = "the main thread exits; other threads map code, run it, unmap it",
	.options = options,
	.run = run,
};
