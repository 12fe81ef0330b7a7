/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/option.h"
#include "harness/base/registry.h"

/*
 * One way to create, run, move and free machine code. @run gets its name as argv[0] and no more,
 * after `jitproof workload` took all options and opened the truth. It returns the exit status.
 */
struct jp_workload {
	const char *name;
	const char *help;                /* one line */
	const struct jp_option *options; /* NULL: none */
	int (*run)(int argc, char **argv);
};

/*
 * The handshake: how a workload talks with what watches it. Lines on the control descriptor
 *(default: standard input) and on the ready descriptor (default: standard output):
 *	<- "ready PID"			once, when code is loaded and every thread runs
 *	-> "step NAME [ARG]" <- "done NAME"  (or "failed NAME: why")
 *	-> "stop" (or end of file, or SIGTERM, SIGINT): leave; the workload joins its threads
 *	<- "skip WHY"			instead of "ready": this machine lacks what it needs
 */
struct jp_step {
	const char *name; /* "map", "unmap", "remap", "thread", "exec" */
	int (*act)(void *context, const char *arg);
};
/* The value of --seed: loop lengths vary with it. */
uint64_t jp_handshake_seed(void);
/* Says "ready", then carries out steps until told to stop. Returns 0. @steps ends with a NULL name;
 * NULL: none.
 */
int jp_handshake(const struct jp_step *steps, void *context);
/* The same, and carries out steps[0] by itself every @period ns (0: never), until that fails:
 * -ENOSPC means that there is no more to do, any other error is returned. */
int jp_handshake_every(uint64_t period, const struct jp_step *steps, void *context);
/* The same without steps, while a thread of its own carries out @round again and again. 0 or -errno
 * of making the thread; a round that fails is said on stderr, and ends the process: the watcher
 * sees a workload that ended while it was watched. */
int jp_handshake_rounds(int (*round)(void *context), void *context);
/* Says that the machine lacks @why, and returns the workload's exit status. */
int jp_handshake_skip(const char *why);
/* Skips the case if PR_SET_MDWE has the kernel refuse memory that was written and is to become
 * executable (map_deny_write_exec(); files may still be mapped as executable). Returns whether it
 * did. */
bool jp_handshake_denied(void);
/* Says what failed (-errno), and returns the workload's exit status; 0: nothing did. */
int jp_handshake_status(const char *workload, int failed);
/* Polled by threads between two paths. */
int jp_handshake_stopping(void);
/* What `jitproof workload` tells the handshake before it runs the workload. */
struct jp_handshake_setup {
	char **argv; /* of the command, as it was typed: what an exec starts again */
	uint64_t seed;
	int ready_fd, control_fd; /* control_fd -1: only signals stop it */
	int hold_fd;              /* -1: nobody opens a witness */
	int resumed;              /* this image is the answer to a step "exec" */
	const char *truth;        /* path of the truth */
};
void jp_handshake_begin(const struct jp_handshake_setup *setup);
const struct jp_handshake_setup *jp_handshake_setup(void);
/* Sends the pid to setup->hold_fd, waits for an answer and closes it: the watcher opens its events
 * on this process while it has one thread and ran no emitted code. */
void jp_handshake_hold(void);
/* In a forked child: a handshake of its own, with its maker (workloads/emit/process.h). */
int jp_handshake_forked(int ready_fd, int control_fd);
/* Replaces this process by the same workload again (step "exec"): argv as at first, plus @extra;
 * the descriptors and the truth go on; the new image answers "done exec" when it is ready. Every
 * thread must have been joined: one that is killed while it writes tears the truth. */
int jp_handshake_exec(const char *extra);

/* Whether @how is a way to publish (workloads/emit/publish.h); "none, A, B or both" into @known. */
bool jp_publish_known(const char *how, char *known, size_t size);
