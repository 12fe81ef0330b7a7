/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"

/*
 * The threads that are traced by ptrace. All of them run, until jp_threads_stop() stops those of
 * one process. They receive signals as without a tracer and continue when the tracer ends. Their
 * new threads and child processes are traced, too. A stop interrupts some system calls with EINTR,
 * as signal(7) lists; programs repeat these.
 */
struct jp_thread {
	pid_t tid, pid;
	bool is_stopped;
	bool is_forked;  /* the process was forked by a traced one and has not called exec since */
	bool group_stop; /* a stop signal such as SIGSTOP stopped the whole process: leave it
			    stopped */
	uint32_t execs;  /* number of execs of its process since the process is traced */
	int signal;      /* signal to deliver when the thread continues; 0: none */
};

struct jp_threads {
	struct jp_thread *list;
	size_t count, capacity;
	int children;   /* a signalfd for SIGCHLD */
	pid_t stopping; /* process that jp_threads_stop() is stopping; 0: none */
	pid_t launched; /* process of the started command; 0: none */
	int status;     /* exit status of @launched, as from waitpid(); valid once that process has
			   ended */
};

/* How a single step ended. */
enum jp_stepped {
	JP_STEPPED,         /* the instruction was executed */
	JP_STEPPED_HANDLER, /* a signal was delivered, and its handler is about to begin */
	JP_STEPPED_STOPPED, /* the thread stopped for another reason: a signal, a fork ... */
	JP_STEPPED_GONE,    /* the thread ended */
};

/* Starts tracing all threads of the running process @pid. Returns 0, or -errno and a message. */
int jp_threads_attach(struct jp_threads *threads, pid_t pid, struct jp_error *err);
/* Starts @command and traces it from its first instruction. Returns 0, or -errno and a message. */
int jp_threads_launch(struct jp_threads *threads, char *const *command, struct jp_error *err);
/* Lets the threads run until @time (CLOCK_MONOTONIC, ns), until no thread is left, or until this
 * process gets an interrupting signal (jp_interrupt_signal()). Returns whether @time was
 * reached. */
bool jp_threads_run_until(struct jp_threads *threads, uint64_t time);
/* Stops all threads of @pid. If they do not stop within 100 ms, for instance during vfork(), lets
 * them run on and returns false. */
bool jp_threads_stop(struct jp_threads *threads, pid_t pid);
/* Lets the stopped threads run. */
void jp_threads_resume(struct jp_threads *threads);
/* Delivers the pending signal of the stopped thread @tid, if it has one, and executes one
 * instruction. */
enum jp_stepped jp_threads_step(struct jp_threads *threads, pid_t tid);
/* Returns thread @tid, or NULL if it is not traced. Valid until the next call of another
 * function. */
struct jp_thread *jp_threads_find(const struct jp_threads *threads, pid_t tid);
/* Returns the thread's state as /proc shows it: 'R', 'S', 'Z' ...; 0 if it is gone. */
char jp_threads_state(const struct jp_thread *thread);
/* Detaches from all threads, delivers their pending signals, and frees the list. */
void jp_threads_end(struct jp_threads *threads);
/* Waits until the started command ends, if there is one, or until this process gets an interrupting
 * signal. */
void jp_threads_await(struct jp_threads *threads);
