/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <semaphore.h>

#include "workloads/emit/emitter.h"

/* A path: functions that call each other, outermost first, with their loop lengths. */
struct jp_path {
	uint32_t id; /* in the truth */
	uint32_t depth;
	struct jp_path_step *steps; /* depth + 2, the last are the end */
	void *stack; /* the top, aligned to 16, of one of its own to run on; NULL: the thread's */
};

/*
 * Makes a path of @depth of the functions @functions[0..depth). Loops are spread so that one run
 * takes about @turns turns; lengths vary with the seed and are mutually prime.
 */
int jp_path_make(struct jp_path *path, const struct jp_function *const *functions, uint32_t depth,
		 uint64_t turns);
void jp_path_free(struct jp_path *path);
/* Runs it once on the calling thread: enter, run, leave. The thread's native roots (both methods)
 * are recorded at its first run from here. */
void jp_path_run(const struct jp_path *path);
/* The calling thread posts @inside once, when it is inside its next path; NULL: no more. What it
 * was to post before and did not. */
sem_t *jp_path_tell(sem_t *inside);
/* Runs @paths in turn for @ns, however long one takes on this machine. */
void jp_paths_run(const struct jp_path *paths, size_t count, uint64_t ns);

/* Its innermost function, which must be one that calls, calls @out each time. */
void jp_path_call_out(struct jp_path *path, void (*out)(void));

/*
 * Within a path the thread came to native code, which wants to run paths itself, or to go on
 * elsewhere: the activation ends here, and begins again with jp_path_resume(), before the path goes
 * on.
 */
struct jp_paused;
/* By a signal's handler over the instruction at @ip, with @sp; @apart: on a stack of its own. The
 * paths that it runs lie over that. Exits where there is no memory. */
struct jp_paused *jp_path_interrupted(uint64_t ip, uint64_t sp, int apart);
/* By what jp_path_call_out() calls. */
struct jp_paused *jp_path_pause(void);
void jp_path_resume(struct jp_paused *paused);

/* From now on each thread writes to @bytes of its stack before its first path, so that none of its
 * frames lies on a page that was never touched. */
void jp_path_touch(size_t bytes);
/* Starts a thread that runs @paths in turn until jp_handshake_stopping(); its start and end are in
 * the truth. Returns once the thread is inside its first path. 0 or -errno. */
int jp_path_thread(const struct jp_path *paths, size_t count);
/* The same, with paths from next(context, 0), next(context, 1), ...: called by the thread itself
 * between two paths, where it may wait as well. NULL: the thread ends. */
typedef const struct jp_path *(*jp_path_next)(void *context, size_t turn);
int jp_path_thread_by(jp_path_next next, void *context);
/* Stops and joins the threads that run @paths, NULL: all; returns their number. */
unsigned jp_path_stop(const struct jp_path *paths);
/* In a forked child: the threads of the parent are not here. */
void jp_path_forked(void);
struct jp_step;
/* Unless it @failed already (-errno, told on stderr): the handshake with @steps while they run,
 * then joins them. The workload's exit status. */
int jp_path_serve(const char *workload, int failed, const struct jp_step *steps, void *context);
