/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/perfdata/summary.h"
#include "harness/judge/validator.h"

/* Findings of all validators in one run directory. */
struct jp_judgement {
	struct jp_findings findings;
	struct jp_findings again;        /* findings with the control's omissions added back */
	struct jp_perfdata_summary file; /* perf.data */
	struct jp_capture_info info;     /* losses are those in the records if these are more */
};

/* Reads perf.data, and injected.data if @asked, once for all validators, and for both judgements if
 * @control is not NULL. Returns 0, or -errno and a message if there is nothing to judge. If
 * validators fail, the findings have the first error and all others' results. */
int jp_judge(const struct jp_evidence *evidence, const struct jp_asked *asked,
	     const struct jp_control *control, struct jp_judgement *judgement,
	     struct jp_error *err);
