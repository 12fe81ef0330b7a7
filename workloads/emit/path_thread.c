// SPDX-License-Identifier: GPL-2.0-only
/* Threads that run paths until they are stopped. */
#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "workloads/emit/path.h"
#include "workloads/emit/thread.h"
#include "workloads/emit/workload.h"

struct runner {
	struct runner *next;
	pthread_t thread;
	const struct jp_path *paths; /* NULL: @choose returns the paths */
	size_t count;
	jp_path_next choose;
	void *context;
	atomic_int stop;
	sem_t entered;
};
static struct runner *runners; /* only the main thread uses this list */

static const struct jp_path *choose_next_path(struct runner *runner, size_t round)
{
	if (jp_handshake_is_stopping() || atomic_load(&runner->stop))
		return NULL;
	return runner->choose ? runner->choose(runner->context, round)
			      : &runner->paths[round % runner->count];
}

/* Bytes of stack that each thread writes to before its first path. */
static size_t touched;

void jp_path_touch_stack(size_t bytes)
{
	touched = bytes;
}

/* Writes to each page of the @bytes of stack below our frame. The pages stay present afterwards. */
static void __attribute__((noinline)) touch_stack(size_t bytes)
{
	volatile char *area = __builtin_alloca(bytes);

	for (size_t i = 0; i < bytes; i += 4096)
		area[bytes - 1 - i] = 0;
}

static void *run_paths(void *arg)
{
	struct runner *runner = arg;
	const struct jp_path *path;

	jp_path_set_inside(&runner->entered);
	if (touched)
		touch_stack(touched);
	for (size_t i = 0; (path = choose_next_path(runner, i)); i++)
		jp_path_run(path);
	if (jp_path_set_inside(NULL)) /* the thread ran no path; do not let its creator wait */
		sem_post(&runner->entered);
	return NULL;
}

static int start_runner(const struct runner *settings)
{
	struct runner *runner = malloc(sizeof(*runner));
	int ret;

	if (!runner)
		return -ENOMEM;
	*runner = *settings;
	sem_init(&runner->entered, 0, 0);
	ret = jp_thread_make(&runner->thread, run_paths, runner);
	if (ret) {
		free(runner);
		return ret;
	}
	runner->next = runners;
	runners = runner;
	while (sem_wait(&runner->entered) < 0 && errno == EINTR)
		;
	return 0;
}

int jp_path_run_thread(const struct jp_path *paths, size_t count)
{
	return start_runner(&(struct runner){.paths = paths, .count = count});
}

int jp_path_run_thread_by(jp_path_next next, void *context)
{
	return start_runner(&(struct runner){.choose = next, .context = context});
}

unsigned jp_path_stop(const struct jp_path *paths)
{
	struct runner **link = &runners;
	unsigned stopped = 0;

	for (struct runner *runner = runners; runner; runner = runner->next)
		if (!paths || runner->paths == paths)
			atomic_store(&runner->stop, 1);
	while (*link) {
		struct runner *runner = *link;

		if (!atomic_load(&runner->stop)) {
			link = &runner->next;
			continue;
		}
		jp_thread_join(runner->thread, NULL);
		*link = runner->next;
		sem_destroy(&runner->entered);
		free(runner);
		stopped++;
	}
	return stopped;
}

int jp_path_serve_handshake(const char *workload, int failed, const struct jp_step *steps,
			    void *context)
{
	if (!failed)
		jp_handshake(steps, context);
	failed = jp_handshake_status(workload, failed);
	jp_path_stop(NULL);
	return failed;
}

void jp_path_forked(void)
{
	while (runners) {
		struct runner *runner = runners;

		runners = runner->next;
		free(runner);
	}
	jp_path_set_inside(NULL);
}
