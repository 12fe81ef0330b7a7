/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

#include "harness/base/error.h"
#include "harness/base/json.h"
#include "harness/trace/instruction.h"

/* Compares a trace with the truth that a workload wrote. */
struct jp_comparison {
	struct jp_trace_insn *insns;
	size_t count, capacity;
	bool failed; /* no memory */
	/* Instructions in emitted functions of the truth: those with the true caller, with another
	 * one, and those for which the trace makes no claim. */
	uint64_t right, wrong, unclaimed;
	uint64_t elsewhere;         /* claimed ones at which the truth knows no emitted function */
	struct jp_trace_insn worst; /* the first wrong one, with the true return address @ret */
	uint64_t true_ret;
};

/* Keeps an instruction: a jp_trace_visit. */
void jp_comparison_add(void *comparison, const struct jp_trace_insn *insn);
/* Compares with the truth in the file @path. Returns 0, or -errno and a message. */
int jp_comparison_make(struct jp_comparison *comparison, const char *path, struct jp_error *err);
void jp_comparison_print(const struct jp_comparison *comparison, FILE *out);
void jp_comparison_json(const struct jp_comparison *comparison, struct jp_json *json);
void jp_comparison_free(struct jp_comparison *comparison);
