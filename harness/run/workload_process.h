/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"
#include "harness/base/lines.h"

/*
 * The watcher's side of the handshake (workloads/emit/workload.h): one workload process, from
 * its start to its end. Every wait has a deadline (CLOCK_MONOTONIC, ns) and ends early, with
 * -EINTR, when the run is interrupted; -ETIMEDOUT past the deadline; -EPIPE when the workload is
 * gone.
 */
struct jp_workload_process {
	pid_t pid;         /* 0: not known yet */
	int pidfd;         /* -1: none yet */
	bool group;        /* leads a process group of its own */
	bool external;     /* another's child, who tells how it ended */
	int ready;         /* we read */
	int control;       /* we write */
	int child_fd[2];   /* the workload's ends of both, until jp_workload_process_started() */
	char output[4096]; /* file of what it prints */
	struct jp_lines lines;
};

/* Makes the pipes; what the workload prints goes to @dir/workload.txt. */
int jp_workload_process_open(struct jp_workload_process *process, const char *dir,
			     struct jp_error *err);
/* Starts @argv in a process group of its own. */
int jp_workload_process_start(struct jp_workload_process *process, char *const *argv,
			      struct jp_error *err);
/* While someone else starts it: our standard descriptors are those that it shall have. */
int jp_workload_process_redirect(const struct jp_workload_process *process, int saved[3],
				 struct jp_error *err);
void jp_workload_process_restore(const int saved[3]);
/* Someone started it: drops our copies of its ends, so that its death is an end of file. */
void jp_workload_process_started(struct jp_workload_process *process);
/* Waits for "ready PID". "skip WHY" is -EOPNOTSUPP, with WHY as the message. */
int jp_workload_process_wait_ready(struct jp_workload_process *process, uint64_t deadline,
				   struct jp_error *err);
/* "step @command", waits for "done". */
int jp_workload_process_step(struct jp_workload_process *process, const char *command,
			     uint64_t deadline, struct jp_error *err);
/* It is no more while it should be watched: -EPIPE, with how it ended, where it is our child. */
int jp_workload_process_ended(struct jp_workload_process *process, uint64_t deadline,
			      struct jp_error *err);
/* "stop", waits for the exit; an exit other than 0 is -ECHILD with its text. */
int jp_workload_process_stop(struct jp_workload_process *process, uint64_t deadline,
			     struct jp_error *err);
/* Kills what is left of it, whatever state it is in, reaps every descendant and closes all. */
void jp_workload_process_close(struct jp_workload_process *process);
/* The last lines that it printed, each after "\n  ", into @text. */
void jp_workload_process_last_words(const struct jp_workload_process *process, char *text,
				    size_t size);
