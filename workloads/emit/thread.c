// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/thread.h"

#include <errno.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/format/truth/write.h"

/* Bytes of a thread's stack: the usual RLIMIT_STACK. We set it, because with an unlimited
 * RLIMIT_STACK the C library uses 2 MiB, too little for the largest frames. */
enum { STACK = 8 << 20 };

/* Arguments of a new thread. They are on the stack of the thread's creator, which waits until the
 * new thread has read them. */
struct thread_args {
	void *(*body)(void *context);
	void *context;
	uint64_t before;
	uint32_t creator;
	struct known_thread *known;
	sem_t is_taken;
};

/* A thread whose end the truth does not contain yet. */
struct known_thread {
	struct known_thread *next;
	pthread_t thread;
	pid_t tid; /* tid of the thread in our pid namespace */
	struct jp_truth_task_ids ids;
	bool joined;
};
static struct known_thread *known_threads;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *run_thread(void *arg)
{
	struct thread_args *args = arg;
	void *(*body)(void *context) = args->body, *context = args->context, *result;

	jp_truth_thread_start(args->before, args->creator);
	args->known->ids = jp_truth_get_own_ids();
	args->known->tid = syscall(SYS_gettid);
	sem_post(&args->is_taken);
	result = body(context);
	jp_truth_thread_exit();
	return result;
}

/* Records in the truth the joined threads that the kernel has released since the last call.
 * pthread_join() returns before the release (exit_mm() wakes us), so each new thread and each join
 * checks again. Call with the lock held. */
static void record_gone_threads(void)
{
	for (struct known_thread **link = &known_threads; *link;) {
		struct known_thread *entry = *link;

		if (!entry->joined || !syscall(SYS_tgkill, getpid(), entry->tid, 0) ||
		    errno != ESRCH) {
			link = &entry->next;
			continue;
		}
		jp_truth_task_released(entry->ids.pid, entry->ids.tid);
		*link = entry->next;
		free(entry);
	}
}

void jp_thread_forget_parent(void)
{
	pthread_mutex_init(&lock, NULL);
	known_threads = NULL;
}

int jp_thread_make(pthread_t *thread, void *(*body)(void *context), void *context)
{
	struct thread_args args = {body, context, .creator = jp_truth_get_own_ids().tid};
	pthread_attr_t attr;
	int error;

	args.known = calloc(1, sizeof(*args.known));
	if (!args.known)
		return -ENOMEM;
	sem_init(&args.is_taken, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	args.before = jp_clock_now();
	error = pthread_create(thread, &attr, run_thread, &args);
	pthread_attr_destroy(&attr);
	while (!error && sem_wait(&args.is_taken) < 0 && errno == EINTR)
		;
	sem_destroy(&args.is_taken);
	if (error) {
		free(args.known);
		return -error;
	}
	args.known->thread = *thread;
	pthread_mutex_lock(&lock);
	args.known->next = known_threads;
	known_threads = args.known;
	record_gone_threads();
	pthread_mutex_unlock(&lock);
	return 0;
}

void jp_thread_join(pthread_t thread, void **result)
{
	struct known_thread *entry;

	pthread_join(thread, result);
	pthread_mutex_lock(&lock);
	entry = known_threads;
	while (entry && (entry->joined || !pthread_equal(entry->thread, thread)))
		entry = entry->next;
	if (entry)
		entry->joined = true;
	record_gone_threads();
	pthread_mutex_unlock(&lock);
}
