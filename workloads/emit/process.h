/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "workloads/emit/child.h"

/*
 * How a workload makes processes, with the truth right: each has its start in the truth, bracketed,
 * with its parent and how, and its end, also when it was killed. Each new process has a handshake
 * of its own (workloads/emit/workload.h), and its maker is who watches it: "ready", "step", "done",
 * "stop". Any thread may make processes; one process is handled by one thread at a time.
 */
enum jp_birth {
	JP_BIRTH_FORK_EXEC,
	JP_BIRTH_VFORK_EXEC,
	JP_BIRTH_SPAWN,       /* posix_spawn() */
	JP_BIRTH_THREAD_EXEC, /* fork; a thread that is not the child's first one calls exec */
	JP_BIRTHS
};
/* "fork+exec", "vfork+exec", "posix_spawn", "thread-exec". */
const char *jp_birth_text(enum jp_birth birth);
/* JP_BIRTHS: no such. */
enum jp_birth jp_birth_find(const char *text);

/* What a fork may ask for beyond fork(2). */
struct jp_fork {
	int namespaces; /* CLONE_NEW*; for CLONE_NEWPID jp_truth_set_outer_proc() was called before
			 */
	pid_t pid;      /* the pid that it shall have, in its namespace; 0: any */
};
/*
 * Forks. The child forgets the parent's threads and processes, calls body(@context), which may use
 * jp_handshake(), and leaves with what it returns, by _exit(). @wanted NULL: plain. With it no
 * other thread may be inside of malloc() or stdio: the C library does not see such a fork. 0 or
 * -errno.
 */
int jp_process_fork(struct jp_child *process, const struct jp_fork *wanted,
		    int (*body)(void *context), void *context);
/*
 * Starts `jitproof workload ARGV...` by @birth: argv[0] is the workload's name; truth and seed are
 * ours. @file: the executable, NULL: the one that runs here. 0 or -errno (the exec's own included).
 */
int jp_process_exec(struct jp_child *process, enum jp_birth birth, const char *file,
		    const char *const *argv);
/*
 * Runs body(@context) in a new process in our own address space (clone(CLONE_VM | CLONE_VFORK)):
 * this thread waits until it ends. Its exit status, or 128 + signal; -errno.
 */
int jp_process_share(int (*body)(void *context), void *context);
/* Wait for its "ready PID"; carry out "step @command". 0; -EPIPE: it is gone; -EPROTO: it said
 * something else, which stands on stderr. */
int jp_process_wait_ready(struct jp_child *process);
int jp_process_step(struct jp_child *process, const char *command);
/* Reads one line from @fd, cut to @size, without its newline. 0; -EPIPE at the end of the file. */
int jp_process_line(int fd, char *line, size_t size);
/* Says "stop". Then, or for one that leaves by itself, jp_process_reap(). */
void jp_process_tell_stop(struct jp_child *process);
/* Waits for its end and reaps it: its exit status, or 128 + signal; -errno. */
int jp_process_reap(struct jp_child *process);
/* Both, where it was started. 0; -ECHILD: it failed. */
int jp_process_stop(struct jp_child *process);
/* The same of each of @processes, at once: all are told before the first is reaped. */
int jp_process_stop_all(struct jp_child *processes, size_t count);
/* Kills and reaps it. It must not be writing to the truth, which that would tear: within a path
 * that does not end, or at rest. */
int jp_process_kill(struct jp_child *process);
