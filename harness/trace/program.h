/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/trace/trace.h"

/* A traced program. */
struct jp_trace_program {
	const char *name; /* of the command that traces, for messages */
	uint32_t pid;     /* the running process; 0: start @command */
	char *const *command;
	int signal; /* sent to the started command after the last burst; 0: it ends by itself */
	int status; /* of the started command once it ended, as from waitpid() */
	struct jp_trace_options options;
	jp_trace_visit *visit;
	void *context;
};

/* Traces the program, lets it go, waits for the end of a started one, and completes @trace, which
 * the caller frees. Returns 0, or -errno and a message. */
int jp_trace_program(struct jp_trace *trace, struct jp_trace_program *program,
		     struct jp_error *err);
