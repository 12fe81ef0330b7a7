/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/trace/trace.h"

/* A program to trace, and how. */
struct jp_trace_program {
	const char *name; /* name of the jitproof command that traces, for messages */
	uint32_t pid;     /* a running process to trace; 0: start @command instead */
	char *const *command;
	int signal; /* signal for the started command after the last burst; 0: wait until it ends by
		       itself */
	bool signalled; /* result: the command had not ended when the signal was sent */
	int status;     /* result: exit status of the started command, as from waitpid() */
	struct jp_trace_options options;
	jp_trace_visit *visit;
	void *context;
};

/* Traces the program, then detaches from it. If it started the program, waits until it ends.
 * Completes @trace, which the caller frees. Returns 0, or -errno and a message. */
int jp_trace_program(struct jp_trace *trace, struct jp_trace_program *program,
		     struct jp_error *err);
