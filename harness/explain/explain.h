/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"
#include "harness/explain/answers.h"
#include "harness/explain/stack.h"
#include "harness/model/symbols/names.h"

struct jp_explain_options {
	const char *elf;  /* a folder of ELF files, or NULL */
	const char *root; /* a copy of a root directory in which to find files, or NULL */
	/* Called for each @event after @spaces have applied it. @stack: the stack of a sample, or
	 * NULL for other events. Returns 0 or -ENOMEM. May be NULL. */
	int (*handle)(void *context, struct jp_replay *spaces, struct jp_names *names,
		      const struct jp_event *event, const struct jp_stack *stack);
	/* Called after the last event, with all names. Returns 0 or -ENOMEM. Set if @handle is. */
	int (*name)(void *context, struct jp_names *names);
	void *context;
	bool partial; /* accept a truncated file: the summary states that it is truncated, and @err
			 contains the place */
};

/* Returns whether no cause is accused, although the file has enough samples to accuse one. */
bool jp_explain_healthy(const struct jp_explanation *explanation);
/* Reads the perf.data file @path once, for all explainers. Returns 0, or -errno and a message if it
 * cannot be read to its end. */
int jp_explain(const char *path, const struct jp_explain_options *options,
	       struct jp_explanation *explanation, struct jp_error *err);
void jp_explanation_free(struct jp_explanation *explanation);
