/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"

/*
 * The traced threads (ptrace). All run, until jp_threads_stop() stops those of one process. They
 * get their signals as without a tracer, continue when the tracer ends, and their new threads and
 * child processes are traced, too. Some system calls that a stop interrupts return EINTR, as
 * signal(7) lists; programs repeat them.
 */
struct jp_thread {
	pid_t tid, pid;
	bool stopped;
	bool forked;     /* its process is a copy of another traced one, without an exec since */
	bool group_stop; /* SIGSTOP or the like stopped the whole process: it stays stopped */
	uint32_t execs;  /* of its process, since that is traced */
	int signal;      /* to deliver when it continues; 0: none */
};

struct jp_threads {
	struct jp_thread *list;
	size_t count, capacity;
	int children;   /* a signalfd for SIGCHLD */
	pid_t wanted;   /* the process to stop; 0: none */
	pid_t launched; /* the process of the command; 0: none */
	int status;     /* of that, as from waitpid(); valid once it is gone */
};

/* How a single step ended. */
enum jp_stepped {
	JP_STEPPED,         /* the instruction was executed */
	JP_STEPPED_HANDLER, /* a signal was delivered, and its handler is about to begin */
	JP_STEPPED_STOPPED, /* something else happened: a signal came, the thread forked ... */
	JP_STEPPED_GONE,    /* the thread ended */
};

/* Traces all threads of the running process @pid. Returns 0, or -errno and a message. */
int jp_threads_attach(struct jp_threads *threads, pid_t pid, struct jp_error *err);
/* Starts @command, traced from its first instruction. Returns 0, or -errno and a message. */
int jp_threads_launch(struct jp_threads *threads, char *const *command, struct jp_error *err);
/* Lets the threads run until @time (CLOCK_MONOTONIC, ns), until none is left, or until a signal of
 * ours (jp_interrupt_signal()). Returns whether @time was reached. */
bool jp_threads_run(struct jp_threads *threads, uint64_t time);
/* Stops all threads of @pid. Returns false if they do not stop within 100 ms, as in vfork(): then
 * they run on. */
bool jp_threads_stop(struct jp_threads *threads, pid_t pid);
/* Lets the stopped threads run. */
void jp_threads_resume(struct jp_threads *threads);
/* Executes one instruction of the stopped thread @tid, after delivering its signal. */
enum jp_stepped jp_threads_step(struct jp_threads *threads, pid_t tid);
/* Returns the thread, or NULL. Valid until the next call of another function. */
struct jp_thread *jp_threads_find(const struct jp_threads *threads, pid_t tid);
/* Returns the thread's state as /proc shows it: 'R', 'S', 'Z' ...; 0 if it is gone. */
char jp_threads_state(const struct jp_thread *thread);
/* Lets all threads go, with their signals, and frees the list. */
void jp_threads_end(struct jp_threads *threads);
/* Waits for the end of the launched process, if there is one, or for a signal of ours. */
void jp_threads_await(struct jp_threads *threads);
