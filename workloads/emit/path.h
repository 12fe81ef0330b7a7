/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <semaphore.h>

#include "workloads/emit/emitter.h"

/* A path: functions that call each other, outermost first, with their loop lengths. */
struct jp_path {
	uint32_t id; /* id in the truth */
	uint32_t depth;
	struct jp_path_step *steps; /* depth + 2; the last two end the path */
	void *stack; /* top of its own stack, aligned to 16 bytes; NULL: the thread's stack */
};

/* Makes a path of functions[0..@depth), outermost first. One run takes about @turns loop
 * iterations; loop lengths vary with the seed and are mutually prime. Returns 0, -EINVAL if a shape
 * cannot have its place, or -ENOMEM. */
int jp_path_make(struct jp_path *path, const struct jp_function *const *functions, uint32_t depth,
		 uint64_t turns);
void jp_path_free(struct jp_path *path);
/* Runs the path once on the calling thread and records enter and leave. The thread's first run
 * records its native roots (for both methods). */
void jp_path_run(const struct jp_path *path);
/* Posts @inside once, when the calling thread is inside its next path; NULL: posts nothing. Returns
 * the semaphore set earlier if it was not posted. */
sem_t *jp_path_set_inside(sem_t *inside);
/* Runs @paths in turn for @ns nanoseconds, regardless of the duration of a single run. */
void jp_paths_run(const struct jp_path *paths, size_t count, uint64_t ns);

/* Makes the innermost function, whose shape must make calls, call @out each time. */
void jp_path_call_out(struct jp_path *path, void (*out)(void));

/* Ends the activation. For native code that a path called, and that runs paths itself or switches
 * to another stack. jp_path_resume() begins the activation again, before the path continues. */
struct jp_paused;
/* Ends the activation that a signal handler interrupted at @ip with stack pointer @sp. Call it in
 * the handler. @apart: the handler has a stack of its own. Exits if there is no memory. */
struct jp_paused *jp_path_interrupt(uint64_t ip, uint64_t sp, int apart);
/* Ends the activation in which emitted code calls the function that jp_path_call_out() set. Call it
 * in that function. Exits if there is no memory. */
struct jp_paused *jp_path_pause(void);
void jp_path_resume(struct jp_paused *paused);

/* Makes each new thread write to @bytes of its stack before its first path, so that none of its
 * frames is on an untouched page. */
void jp_path_touch(size_t bytes);
/* Starts a thread that runs @paths in turn until jp_handshake_stopping(), and records its start and
 * end. Returns 0 once the thread is inside its first path, or -errno. */
int jp_path_thread(const struct jp_path *paths, size_t count);
/* Does the same as jp_path_thread() with the paths next(context, 0), next(context, 1), ... The
 * thread calls @next between two paths; it may block. NULL ends the thread. */
typedef const struct jp_path *(*jp_path_next)(void *context, size_t turn);
int jp_path_thread_by(jp_path_next next, void *context);
/* Stops and joins the threads that run @paths; NULL: all threads. Returns their number. */
unsigned jp_path_stop(const struct jp_path *paths);
/* Forgets the threads of the parent. Call it in a forked child. */
void jp_path_forked(void);
struct jp_step;
/* Unless @failed (-errno; printed to stderr) is set, serves the handshake with @steps while threads
 * run paths. Then joins the threads. Returns the workload's exit status. */
int jp_path_serve(const char *workload, int failed, const struct jp_step *steps, void *context);
