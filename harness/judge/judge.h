/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/perfdata/summary.h"
#include "harness/judge/validator.h"

/* The findings of all validators about one run directory. */
struct jp_judgement {
	struct jp_findings findings;
	/* Findings after the events that the control left out were added back. */
	struct jp_findings again;
	struct jp_perfdata_summary file; /* properties of perf.data */
	struct jp_capture_info info; /* the capture's own facts about itself; counts of losses are
					raised to those in its records */
};

/* Judges the run directory of @evidence. Reads perf.data once, and injected.data if @asked, for all
 * validators together, and also for the second judgement if @control is not NULL. Returns 0, or
 * -errno and a message if there is nothing to judge. If validators fail, the findings contain the
 * first validator's error and the results of the others. */
int jp_judge(const struct jp_evidence *evidence, const struct jp_asked *asked,
	     const struct jp_control *control, struct jp_judgement *judgement,
	     struct jp_error *err);
