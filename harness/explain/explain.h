/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"
#include "harness/explain/blame.h"
#include "harness/format/perfdata/summary.h"

/* A cause that does not cost this share of the samples for sure (95 %) is a note: starts, exits and
 * prologues are always there. */
#define JP_EXPLAIN_ACCUSES 0.02

/* Why stacks of a file are broken and names missing. */
struct jp_explanation {
	struct jp_perfdata_summary summary;
	struct jp_blames blames;
	struct jp_blamed *causes; /* by what they cost, most first */
	size_t nr_causes;
	size_t nr_accused; /* so many of them, from the first, are no mere notes */
	/* Samples whose stack is a dump of another machine, or of a 32-bit task: nobody here knows
	 * whether it is broken. */
	uint64_t unknown_stacks;
};

struct jp_explain_options {
	const char *elf;  /* a folder of ELF files, or NULL */
	const char *root; /* a copied root to find files in, or NULL */
	bool partial;     /* a file that is cut short will do: its summary says so, @err where */
};

/* Whether nothing is accused, and enough was seen to say so. */
bool jp_explain_healthy(const struct jp_explanation *explanation);
/* Reads the perf.data file @path once, for all explainers. -errno and a message where it cannot be
 * read whole. */
int jp_explain(const char *path, const struct jp_explain_options *options,
	       struct jp_explanation *explanation, struct jp_error *err);
void jp_explanation_free(struct jp_explanation *explanation);
