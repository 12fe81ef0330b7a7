// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/thread.h"

#include <errno.h>
#include <semaphore.h>

#include "harness/format/truth/write.h"

/* On the maker's stack: it waits until the thread has taken what it needs. */
struct birth {
	void *(*body)(void *context);
	void *context;
	uint64_t before;
	uint32_t by;
	sem_t taken;
};

static void *live(void *arg)
{
	struct birth *birth = arg;
	void *(*body)(void *context) = birth->body, *context = birth->context, *result;

	jp_truth_thread_start(birth->before, birth->by);
	sem_post(&birth->taken);
	result = body(context);
	jp_truth_thread_exit();
	return result;
}

int jp_thread_make(pthread_t *thread, void *(*body)(void *context), void *context)
{
	struct birth birth = {body, context, .by = jp_truth_self().tid};
	int error;

	sem_init(&birth.taken, 0, 0);
	birth.before = jp_clock_now();
	error = pthread_create(thread, NULL, live, &birth);
	while (!error && sem_wait(&birth.taken) < 0 && errno == EINTR)
		;
	sem_destroy(&birth.taken);
	return -error;
}
