/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/option.h"
#include "harness/base/registry.h"

/* A workload: one way to create, run, move and free machine code. `jitproof workload` parses all
 * options and opens the truth, then calls @run with the workload's name as argv[0] and no further
 * argument. @run returns the exit status. */
struct jp_workload {
	const char *name;
	const char *help;                /* one line of help */
	const struct jp_option *options; /* NULL: none */
	int (*run)(int argc, char **argv);
};

/*
 * The handshake between a workload and its watcher: lines on the control descriptor (default:
 * standard input) and on the ready descriptor (default: standard output):
 *	<- "ready PID"			once code is loaded and all threads run
 *	-> "step NAME [ARG]" <- "done NAME"  (or "failed NAME: why")
 *	-> "stop" (or end of file, SIGTERM, SIGINT): the workload joins its threads and exits
 *	<- "skip WHY"			instead of "ready": the machine or the options lack WHY
 */
struct jp_step {
	const char *name; /* "map", "unmap", "remap", "thread", "exec" */
	int (*act)(void *context, const char *arg);
};
/* Sends "ready", then runs requested steps until "stop". Returns 0. A step with a NULL name ends
 * @steps; @steps may be NULL. */
int jp_handshake(const struct jp_step *steps, void *context);
/* Does the same as jp_handshake() and also runs steps[0] every @period ns (0: never). If steps[0]
 * fails, returns its error, or 0 for -ENOSPC, which means that there is nothing left to do. */
int jp_handshake_with_period(uint64_t period, const struct jp_step *steps, void *context);
/* Does the same as jp_handshake() without steps, while a thread repeats @round. A failing round
 * prints its error and ends the process, so that the watcher notices. Returns 0, or -errno if the
 * thread could not start. */
int jp_handshake_rounds(int (*round)(void *context), void *context);
/* Sends "skip @reason", the feature that the machine or the options lack. Returns the workload's
 * exit status. */
int jp_handshake_skip(const char *reason);
/* Skips the case if PR_SET_MDWE makes the kernel refuse to make written memory executable
 * (map_deny_write_exec(); files can still be mapped executable). Returns whether it skipped. */
bool jp_handshake_skip_denied(void);
/* Prints the error @failed (-errno; 0: none) and returns the workload's exit status. */
int jp_handshake_status(const char *workload, int failed);
/* Returns whether threads should stop. Threads call it between two paths. */
int jp_handshake_is_stopping(void);
/* Parameters that `jitproof workload` sets before it runs the workload. */
struct jp_handshake_setup {
	char **argv;              /* command line as typed, which an exec repeats */
	uint64_t seed;            /* value of --seed, with which loop lengths vary */
	uint64_t shorter;         /* value of --shorter, by which loop lengths are divided */
	int ready_fd, control_fd; /* control_fd -1: only signals stop the workload */
	int hold_fd;       /* for jp_handshake_wait_for_watcher(); -1: no watcher opens a witness */
	int resumed;       /* a step "exec" created this image */
	const char *truth; /* path of the truth */
};
void jp_handshake_begin(const struct jp_handshake_setup *setup);
const struct jp_handshake_setup *jp_handshake_setup(void);
/* Sends the pid to setup->hold_fd, waits for an answer and closes the descriptor. Meanwhile the
 * watcher opens its events on this process, which has one thread and has not run emitted code. */
void jp_handshake_wait_for_watcher(void);
/* Starts the handshake of a forked child with its parent (workloads/emit/process.h). The child
 * calls it. Returns 0 or -ENOMEM. */
int jp_handshake_begin_child(int ready_fd, int control_fd);
/* Replaces this process by a new image of the same workload (step "exec"): the original argv plus
 * @extra_argument (NULL: nothing), the same descriptors and truth. The new image answers "done
 * exec" when it is ready. Join all threads before: a thread killed while it writes leaves a torn
 * record. Returns only on failure, with -errno. */
int jp_handshake_exec(const char *extra_argument);

/* Returns whether @publishers is a valid value of --publish (workloads/emit/publish.h). Stores
 * "none, A, B or both" in @names. */
bool jp_publish_is_valid(const char *publishers, char *names, size_t size);
