/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

#include "harness/base/error.h"
#include "harness/base/json.h"
#include "harness/trace/instruction.h"

/* Comparison of a trace with the truth that a workload wrote. */
struct jp_comparison {
	struct jp_trace_insn *insns;
	size_t count, capacity;
	bool failed; /* no memory */
	/* Number of instructions in emitted functions of the truth for which the trace found the
	 * true caller, another caller, or no certain caller. */
	uint64_t nr_right, nr_wrong, nr_unclaimed;
	uint64_t elsewhere; /* number of instructions with a certain caller that are in no emitted
			       function of the truth */
	struct jp_trace_insn first_wrong; /* the first instruction with a wrong caller; its true
				       return address is @true_ret */
	uint64_t true_ret;
};

/* Stores @insn for the comparison. A jp_trace_visit. */
void jp_comparison_add(void *comparison, const struct jp_trace_insn *insn);
/* Compares the stored instructions with the truth in file @path. Returns 0, or -errno and a
 * message. */
int jp_comparison_make(struct jp_comparison *comparison, const char *path, struct jp_error *err);
void jp_comparison_print(const struct jp_comparison *comparison, FILE *out);
void jp_comparison_json(const struct jp_comparison *comparison, struct jp_json *json);
void jp_comparison_free(struct jp_comparison *comparison);
