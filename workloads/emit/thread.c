// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/thread.h"

#include <errno.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/format/truth/write.h"

/* Bytes of a thread's stack: the usual RLIMIT_STACK. The C library takes 2 MiB where that is
 * unlimited, and the largest frames need more. */
enum { STACK = 8 << 20 };

/* On the maker's stack: it waits until the thread has taken what it needs. */
struct birth {
	void *(*body)(void *context);
	void *context;
	uint64_t before;
	uint32_t by;
	struct made *made;
	sem_t taken;
};

/* A thread that may still be there. */
struct made {
	struct made *next;
	pthread_t thread;
	pid_t tid; /* as we see it */
	struct jp_truth_task_ids ids;
	bool joined;
};
static struct made *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *live(void *arg)
{
	struct birth *birth = arg;
	void *(*body)(void *context) = birth->body, *context = birth->context, *result;

	jp_truth_thread_start(birth->before, birth->by);
	birth->made->ids = jp_truth_self();
	birth->made->tid = syscall(SYS_gettid);
	sem_post(&birth->taken);
	result = body(context);
	jp_truth_thread_exit();
	return result;
}

/*
 * pthread_join() returns while the kernel still works at the thread's end (exit_mm() wakes us):
 * each that was joined is asked for again whenever a thread is made or joined. With the lock held.
 */
static void sweep(void)
{
	for (struct made **at = &all; *at;) {
		struct made *one = *at;

		if (!one->joined || !syscall(SYS_tgkill, getpid(), one->tid, 0) || errno != ESRCH) {
			at = &one->next;
			continue;
		}
		jp_truth_gone(one->ids.pid, one->ids.tid);
		*at = one->next;
		free(one);
	}
}

void jp_thread_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	all = NULL;
}

int jp_thread_make(pthread_t *thread, void *(*body)(void *context), void *context)
{
	struct birth birth = {body, context, .by = jp_truth_self().tid};
	pthread_attr_t attr;
	int error;

	birth.made = calloc(1, sizeof(*birth.made));
	if (!birth.made)
		return -ENOMEM;
	sem_init(&birth.taken, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	birth.before = jp_clock_now();
	error = pthread_create(thread, &attr, live, &birth);
	pthread_attr_destroy(&attr);
	while (!error && sem_wait(&birth.taken) < 0 && errno == EINTR)
		;
	sem_destroy(&birth.taken);
	if (error) {
		free(birth.made);
		return -error;
	}
	birth.made->thread = *thread;
	pthread_mutex_lock(&lock);
	birth.made->next = all;
	all = birth.made;
	sweep();
	pthread_mutex_unlock(&lock);
	return 0;
}

void jp_thread_join(pthread_t thread, void **result)
{
	struct made *one;

	pthread_join(thread, result);
	pthread_mutex_lock(&lock);
	one = all;
	while (one && (one->joined || !pthread_equal(one->thread, thread)))
		one = one->next;
	if (one)
		one->joined = true;
	sweep();
	pthread_mutex_unlock(&lock);
}
