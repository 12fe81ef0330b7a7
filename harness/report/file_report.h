/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/perfdata/read.h"
#include "harness/judge/file_figures.h"
#include "harness/model/unwind/unwind.h"

/* The report on a perf.data file without truth. */
struct jp_file_report {
	const char *file;
	struct jp_replay *replay;
	struct jp_file_figures *figures;
	struct jp_file_names *names;
	bool unwinds;                 /* stack dumps were unwound too */
	struct jp_unwinder *unwinder; /* set if @unwinds is true */
	struct {
		uint64_t samples, frames, stops[JP_UNWIND_STOPS];
		/* Numbers of stack dumps that were not unwound: of 32-bit tasks, of unknown
		 * machines, of samples without registers. */
		uint64_t bits_32, other_machine, no_registers;
	} unwound;
	struct jp_perfdata_summary summary;
	struct jp_figures total;
};

/* Prints the report to standard output, as one JSON object. */
void jp_file_report_json(struct jp_file_report *report);
/* Prints the report to standard output, as text. */
void jp_file_report_text(struct jp_file_report *report);
