/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

#include "workloads/emit/child.h"

/* Creates processes for workloads and records in the truth each start (interval, parent and kind)
 * and each end, even if the process was killed. Each new process has a handshake of its own
 * (workloads/emit/workload.h) with its parent, which sends "step" and "stop" and receives "ready"
 * and "done". Any thread may create processes; only one thread at a time may use a process. */
enum jp_birth {
	JP_BIRTH_FORK_EXEC,
	JP_BIRTH_VFORK_EXEC,
	JP_BIRTH_SPAWN,       /* posix_spawn() */
	JP_BIRTH_THREAD_EXEC, /* fork; a thread other than the child's first thread calls exec */
	JP_BIRTHS
};
/* Returns "fork+exec", "vfork+exec", "posix_spawn" or "thread-exec". */
const char *jp_birth_get_name(enum jp_birth birth);
/* Returns the value for @text, or JP_BIRTHS if there is none. */
enum jp_birth jp_birth_find(const char *text);
/* Prints the names of all values of enum jp_birth, a line each. */
void jp_birth_print(FILE *out);

/* Properties of a child that fork(2) cannot set. */
struct jp_fork {
	int namespaces; /* CLONE_NEW*; CLONE_NEWPID requires jp_truth_outside() before */
	pid_t pid;      /* pid that the child gets in its namespace (set_tid); 0: any pid */
};
/* Forks. The child forgets the parent's threads and processes, calls body(@context), which may use
 * jp_handshake(), and passes the return value to _exit(). @options NULL: plain fork(2). With
 * @options no other thread may be inside malloc() or stdio, because the C library does not know
 * about such a fork. Returns 0 or -errno. */
int jp_process_fork(struct jp_child *process, const struct jp_fork *options,
		    int (*body)(void *context), void *context);
/* Starts `jitproof workload ARGV...` in a new process, created as @birth states. argv[0] is the
 * workload's name. The child gets our truth and seed. @file: the executable; NULL: the running
 * program. Returns 0, or -errno of the creation or of the exec. */
int jp_process_exec(struct jp_child *process, enum jp_birth birth, const char *file,
		    const char *const *argv);
/* Runs body(@context) in a new process in our address space (clone(CLONE_VM | CLONE_VFORK)) and
 * waits for it. Returns its exit status, 128 + signal, or -errno. */
int jp_process_share(int (*body)(void *context), void *context);
/* Waits for "ready PID". Returns 0, -EPIPE if the process is gone, or -EPROTO, with a line on
 * stderr, after any other answer. */
int jp_process_wait_ready(struct jp_child *process);
/* Sends "step @command" and waits for "done". Returns as jp_process_wait_ready(). */
int jp_process_step(struct jp_child *process, const char *command);
/* Reads a line from @fd without its newline, cut to @size bytes. Returns 0, -EPIPE at the end of
 * the file, or -errno. */
int jp_process_read_line(int fd, char *line, size_t size);
/* Sends "stop". Call jp_process_reap() afterwards. */
void jp_process_send_stop(struct jp_child *process);
/* Waits for the end of a process and reaps it. Returns its exit status, 128 + signal, or -errno. */
int jp_process_reap(struct jp_child *process);
/* Stops and reaps a process, unless it was never started. Returns 0, or -ECHILD if the process
 * failed. */
int jp_process_stop(struct jp_child *process);
/* Does the same as jp_process_stop() for each of @processes: sends "stop" to all before it reaps
 * the first. */
int jp_process_stop_all(struct jp_child *processes, size_t count);
/* Kills and reaps a process. Returns as jp_process_reap(). The process must be idle or inside a
 * path that does not end: a process killed while it writes to the truth leaves a torn record. */
int jp_process_kill(struct jp_child *process);
