/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/perfdata/summary.h"
#include "harness/judge/validator.h"

/* What all validators find in one run directory. */
struct jp_judgement {
	struct jp_findings findings;
	struct jp_findings again;        /* with what the control left out added back */
	struct jp_perfdata_summary file; /* perf.data */
	struct jp_capture_info info; /* its losses are those that the records tell of, if more */
};

/*
 * Reads perf.data, and injected.data where @asked, once each, for all validators and for both
 * judgements where @control is not NULL. -errno and a message where there is nothing to judge;
 * where validators could not, the findings' error is the first one's, and the others' are there.
 */
int jp_judge(const struct jp_evidence *evidence, const struct jp_asked *asked,
	     const struct jp_control *control, struct jp_judgement *judgement,
	     struct jp_error *err);
