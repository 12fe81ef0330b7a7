/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "validators/code_names.h"

struct jp_order_side { /* result of one file */
	struct jp_named_samples samples;
	uint64_t named[JP_NAMES], unjudged, elf, map;
	uint64_t anon;   /* anonymous executable records */
	uint64_t hidden; /* loads */
};

struct jp_jit_order {
	const struct jp_evidence *evidence;
	const struct jp_view *view;
	struct jp_findings *findings;
	struct jp_file_finder *finder;
	struct jp_naming naming;
	struct jp_code_loads loads;
	struct jp_incarnations incarnations;
	struct jp_order_side before, after, *side; /* @side: the file being read */
	bool last;                                 /* this file's names count */
	/* Loads, in the last file. */
	size_t *by_begin, begun;
	struct {
		bool begun, failed, elf, map;
	} * state;
	uint64_t load_right, load_judged;
	uint64_t injected, misplaced; /* records of injected code */
};
