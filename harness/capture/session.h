/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <pthread.h>
#include <sys/resource.h>

#include "harness/capture/capture.h"
#include "harness/format/rundir/capture_info.h"

/* The lowest nice value (setpriority(2)), which is the highest priority. */
enum { JP_HIGHEST_PRIORITY = -20 };

/* A thread of a capture that continues to work after jp_capture.begin. */
struct jp_worker {
	pthread_t thread;
	bool runs;
	bool ending; /* asks the worker to end; under the session's lock */
	int wake;    /* eventfd that wakes the worker; -1: the worker waits for session->changed */
	int error;   /* -errno with which its work failed; 0: no error */
	struct jp_error err;
};

/* A session, for the implementation of captures. */
struct jp_session {
	const struct jp_capture *capture;
	void *state; /* owned by the capture */
	struct jp_capture_options options;
	struct jp_target *target;
	char *dir, *output;
	struct rlimit files; /* RLIMIT_NOFILE as inherited, which the launched command gets back */
	int *cpus;
	unsigned int nr_cpus;
	uint64_t began;              /* time before the session opened anything */
	struct jp_capture_info info; /* contents of DIR/capture */
	struct jp_worker worker;
	struct jp_recorder *recorder; /* NULL: an external profiler records */
	struct jp_external *external; /* the external profiler; NULL: our own events record */
	struct jp_elf_copies *copies; /* NULL: no DIR, or not started yet */
	bool stopped;
	uint64_t silent; /* time by which the sampling events were off; 0: they are on */

	pthread_mutex_t lock;   /* guards events and records, also against the drain */
	pthread_cond_t changed; /* signalled on changes of the fields below */
	uint64_t samples;       /* number of all samples */
	uint64_t early;         /* number of samples whose time precedes info.sampling */
	bool exited;            /* every watched process has exited */
	bool failed;            /* recording failed: finish reports why */
	bool complete;          /* the capture has all that it needs */
	/* Only @complete, not the number of samples, ends jp_session_wait(). */
	bool by_complete;
};

/* Lets the target act at @boundary. Returns 0, or -errno and a message. */
int jp_session_reach_boundary(struct jp_session *session, const char *boundary,
			      struct jp_error *err);
/* Measures the error of event times, and creates DIR/maps and DIR/elf. */
int jp_session_prepare(struct jp_session *session, struct jp_error *err);
/* Starts @run(@context) in the thread *@thread with all signals blocked. The caller joins the
 * thread. Returns 0, or -errno and a message. */
int jp_thread_start(pthread_t *thread, void *(*run)(void *), void *context, struct jp_error *err);
int jp_worker_start(struct jp_session *session, void *(*run)(void *), void *context,
		    struct jp_error *err);
/* Records that the worker ended with @error (-errno; 0: none), and wakes threads that wait for
 * samples. The worker calls it last. */
void jp_worker_done(struct jp_session *session, int error);
/* Asks the worker to end, and joins it. */
void jp_worker_end(struct jp_session *session);
