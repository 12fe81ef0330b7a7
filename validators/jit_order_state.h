/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "validators/code_names.h"

/* Results of perf.data or injected.data. */
struct jp_order_side {
	struct jp_named_samples samples;
	uint64_t named[JP_NAMES], unjudged, elf, map;
	uint64_t anon;   /* anonymous executable records */
	uint64_t hidden; /* loads that a later record covers */
};

struct jp_jit_order {
	const struct jp_evidence *evidence;
	const struct jp_view *view;
	struct jp_findings *findings;
	struct jp_file_finder *finder;
	struct jp_naming naming;
	struct jp_code_loads loads;
	struct jp_incarnations incarnations;
	struct jp_order_side before, after, *side; /* @side: of the current file */
	bool last; /* the current file's names are judged: injected.data, or the only file */
	size_t *by_begin, begun; /* incarnations, by begin; how many of them have begun */
	struct {
		bool begun, failed, elf, map;
	} * state;
	uint64_t load_right, load_judged;
	uint64_t injected, misplaced; /* records of injected code */
};
