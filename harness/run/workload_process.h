/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"
#include "harness/base/lines.h"

/* A workload process, from its start to its end, and the runner's side of the handshake with it
 * (workloads/emit/workload.h). Every wait has a deadline (CLOCK_MONOTONIC, ns), and returns -EINTR
 * when the run is interrupted, -ETIMEDOUT after the deadline, or -EPIPE when the workload has
 * ended. */
struct jp_workload_process {
	pid_t pid;        /* 0: not yet known */
	int pidfd;        /* -1: none yet */
	bool group;       /* the process leads its own process group */
	bool is_external; /* it is the child of another process, so its exit status is unknown */
	int line_fd;      /* descriptor from which we read the workload's lines */
	int control;      /* descriptor to which we write lines for the workload */
	/* The workload's ends of both pipes, until jp_workload_process_close_ends(). */
	int child_fd[2];
	char output[4096]; /* path of the file with the workload's standard output and error */
	struct jp_lines lines;
};

/* Creates the pipes; the workload's output goes to @dir/workload.txt. */
int jp_workload_process_open(struct jp_workload_process *process, const char *dir,
			     struct jp_error *err);
/* Starts the workload by @argv in its own process group. */
int jp_workload_process_start(struct jp_workload_process *process, char *const *argv,
			      struct jp_error *err);
/* Replaces the standard descriptors of this process by those for the workload, because a process
 * that it starts will inherit them. Stores the original descriptors in @saved. */
int jp_workload_process_redirect(const struct jp_workload_process *process, int saved[3],
				 struct jp_error *err);
void jp_workload_process_restore(const int saved[3]);
/* Closes our copies of the workload's descriptors after its start, so that we see an end of file
 * when it ends. */
void jp_workload_process_close_ends(struct jp_workload_process *process);
/* Waits for "ready PID". Returns -EOPNOTSUPP with the message WHY for "skip WHY". */
int jp_workload_process_wait_ready(struct jp_workload_process *process, uint64_t deadline,
				   struct jp_error *err);
/* Sends "step @command" and waits for "done". */
int jp_workload_process_step(struct jp_workload_process *process, const char *command,
			     uint64_t deadline, struct jp_error *err);
/* Returns -EPIPE and a message for a workload that ended while it was recorded. If the workload is
 * our child, the message states how it ended. */
int jp_workload_process_fail_end(struct jp_workload_process *process, uint64_t deadline,
				 struct jp_error *err);
/* Sends "stop" and waits for the exit. Returns -ECHILD and the end of the workload's output if the
 * exit status is not 0. */
int jp_workload_process_stop(struct jp_workload_process *process, uint64_t deadline,
			     struct jp_error *err);
/* Kills the process group, reaps every descendant and closes all descriptors. Allowed in any state
 * of @process. */
void jp_workload_process_close(struct jp_workload_process *process);
/* Stores the last lines of the workload's output in @text, each after "\n ". */
void jp_workload_process_last_words(const struct jp_workload_process *process, char *text,
				    size_t size);
