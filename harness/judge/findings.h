/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include "harness/judge/books.h"
#include "harness/judge/metric.h"
#include "harness/format/truth/format.h"

/* What a validator, or all validators of a case, found. */
enum jp_verdict {
	JP_UNJUDGED,
	JP_UNMAPPED,
	JP_WRONG,
	JP_EXTRA,
	JP_SINGLE,
	JP_SHORT,
	JP_HOLE,
	JP_GAP,
	JP_EXACT,
	JP_VERDICTS
};
const char *jp_verdict_text(enum jp_verdict verdict);

/* One kind of failure with where it was first seen. Its texts are the validator's constants, or a
 * control's name. */
struct jp_exception {
	const char *kind;      /* the metric, without the method */
	enum jp_method method; /* JP_METHODS: of none */
	const char *cause;
	uint64_t count;
	char metric[48]; /* "broken.dump": @kind and @method, for readers */
	char first[400]; /* the first of them: time, process, ip, function+offset, what was missing
			    where */
};

struct jp_findings {
	struct jp_metric *metrics;
	size_t nr_metrics, metrics_capacity;
	struct jp_exception *exceptions; /* one per (metric, cause) */
	size_t nr_exceptions, exceptions_capacity;
	uint64_t verdicts[JP_METHODS][JP_VERDICTS];
	uint64_t in_kernel[JP_METHODS][JP_VERDICTS]; /* of them, samples in the kernel */
	uint64_t predicted[JP_METHODS]; /* samples that the method walked as the truth foretold */
	bool judged[JP_METHODS];
	struct jp_books books; /* everything is in some class of one of these */
	struct jp_skipped {
		const char *validator, *lack; /* constants: who did not judge, for want of what */
	} * skipped;
	size_t nr_skipped, skipped_capacity;
	char error[1024];  /* not "": the case is an ERROR, for this reason */
	bool contradicted; /* which is that the runner saw otherwise: no figure is worth anything */
	bool failed;       /* memory ran out, and metrics are missing */
};

void jp_findings_free(struct jp_findings *findings);
/* Without memory @findings fail, which jp_findings_append() tells. */
void jp_findings_add(struct jp_findings *findings, struct jp_metric metric);
/* The same of jp_metric_rate() and jp_metric_count(). */
void jp_findings_add_rate(struct jp_findings *findings, const char *name, uint64_t k, uint64_t n);
void jp_findings_add_count(struct jp_findings *findings, const char *name, uint64_t k);
/* All of @more behind what is there; none of its exceptions is in @findings. 0, or -ENOMEM where
 * @more failed, too. */
int jp_findings_append(struct jp_findings *findings, const struct jp_findings *more);
const struct jp_metric *jp_findings_metric(const struct jp_findings *findings, const char *name);
/* A metric that has a part in what is asked of any case: constant @role says which. */
void jp_findings_add_as(struct jp_findings *findings, const struct jp_role *role,
			struct jp_metric metric);
/* Counts one failure. Where its count is 1, it is the first and wants its sentence. NULL: no
 * memory. */
struct jp_exception *jp_findings_count(struct jp_findings *findings, const char *kind,
				       enum jp_method method, const char *cause);
/* @validator does not judge: the capture declares @lack. 0 or -ENOMEM. */
int jp_findings_skip(struct jp_findings *findings, const char *validator, const char *lack);
/* The same of no method, with the sentence. */
int jp_findings_except(struct jp_findings *findings, const char *kind, const char *cause,
		       const char *first, ...) __attribute__((format(printf, 4, 5)));
