/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <semaphore.h>

#include "workloads/emit/emitter.h"

/* A path: functions that call each other, outermost first, with their loop lengths. */
struct jp_path {
	uint32_t id; /* id in the truth */
	uint32_t depth;
	struct jp_path_step *steps; /* @depth + 2 steps; the last two mark the end */
	void *stack; /* top of the path's own stack, aligned to 16; NULL: the thread's stack */
};

/* Makes a path of functions[0..@depth), outermost first. One run takes about @turns loop
 * iterations; loop lengths vary with the seed and are mutually prime. Returns 0, -EINVAL if a shape
 * cannot have its place, or -ENOMEM. */
int jp_path_make(struct jp_path *path, const struct jp_function *const *functions, uint32_t depth,
		 uint64_t turns);
void jp_path_free(struct jp_path *path);
/* Runs the path once on the calling thread and records when it enters and leaves the path. The
 * thread's first run also records the native frames below all paths, as a frame-pointer walk and as
 * call frame information find them. */
void jp_path_run(const struct jp_path *path);
/* Makes the calling thread post @inside once, when it is inside its next path; NULL: post nothing.
 * Returns the semaphore of an earlier call if it has not been posted yet, else NULL. */
sem_t *jp_path_set_inside(sem_t *inside);
/* Runs @paths in turn for @ns nanoseconds, regardless of the duration of a single run. */
void jp_paths_run(const struct jp_path *paths, size_t count, uint64_t ns);

/* Makes the innermost function of @path, whose shape must make calls, call @out where others call
 * the next function. */
void jp_path_make_call_out(struct jp_path *path, void (*out)(void));

/* A paused activation. Native code that interrupts a path, or that a path calls, and that runs
 * paths itself or switches to another stack, ends the activation first. jp_path_resume() begins it
 * again before the path continues. */
struct jp_paused;
/* Ends the activation that a signal handler interrupted at @ip with stack pointer @sp. Call it in
 * the handler. @apart: the handler has a stack of its own. Exits the process if out of memory. */
struct jp_paused *jp_path_interrupt(uint64_t ip, uint64_t sp, int apart);
/* Ends the activation in which emitted code calls the function that jp_path_make_call_out() set.
 * Call it in that function. Exits the process if out of memory. */
struct jp_paused *jp_path_pause(void);
void jp_path_resume(struct jp_paused *paused);

/* Makes each new thread write to @bytes of its stack before its first path, so that none of its
 * frames is on an untouched page. */
void jp_path_touch_stack(size_t bytes);
/* Starts a thread that runs @paths in turn until jp_handshake_is_stopping(), and records its start
 * and end. Returns 0 once the thread is inside its first path, or -errno. */
int jp_path_run_thread(const struct jp_path *paths, size_t count);
/* Returns the path that a thread of jp_path_run_thread_by() runs in turn number @turn: 0, 1, ...
 * The thread calls the function between two paths. It may block. NULL ends the thread. */
typedef const struct jp_path *(*jp_path_next)(void *context, size_t turn);
int jp_path_run_thread_by(jp_path_next next, void *context);
/* Stops and joins the threads that run @paths; NULL: all threads. Returns their number. */
unsigned jp_path_stop(const struct jp_path *paths);
/* Forgets the threads of the parent. Call it in a forked child. */
void jp_path_forked(void);
struct jp_step;
/* Unless @failed (-errno; printed to stderr) is set, serves the handshake with @steps while threads
 * run paths. Then joins the threads. Returns the workload's exit status. */
int jp_path_serve_handshake(const char *workload, int failed, const struct jp_step *steps,
			    void *context);
