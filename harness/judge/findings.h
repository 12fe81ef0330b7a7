/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include "harness/judge/books.h"
#include "harness/judge/metric.h"
#include "harness/format/truth/format.h"

/* Findings of a validator, or of all validators of a case. */
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

/* One kind of failure, with its first occurrence. Texts are constants of the validator, or a
 * control's name. */
struct jp_exception {
	const char *kind;      /* the metric, without the method */
	enum jp_method method; /* JP_METHODS: no method */
	const char *cause;
	uint64_t count;
	char metric[48]; /* "broken.dump": @kind and @method, for readers */
	char first[400]; /* the first failure: time, process, ip, function+offset, what was missing
			    where */
};

/* What another program shows of a file. */
struct jp_reader {
	char name[64], file[32]; /* "perf 7.3.4", "injected.data" */
	uint64_t samples;        /* in the file */
	enum jp_reader_answer {
		JP_READER_AGREES,
		JP_READER_DIFFERS,
		JP_READER_OLDER, /* it is too old for the file's format: nothing was compared */
		JP_READER_ANSWERS
	} answer;
};
const char *jp_reader_answer_text(enum jp_reader_answer answer);

struct jp_findings {
	struct jp_metric *metrics;
	size_t nr_metrics, metrics_capacity;
	struct jp_exception *exceptions; /* one for each (metric, cause) */
	size_t nr_exceptions, exceptions_capacity;
	uint64_t verdicts[JP_METHODS][JP_VERDICTS];
	uint64_t in_kernel[JP_METHODS][JP_VERDICTS]; /* of these, samples in the kernel */
	uint64_t predicted[JP_METHODS]; /* samples that the method walked as the truth predicts */
	bool judged[JP_METHODS];
	struct jp_books books; /* accounts: everything is in a class of one of them */
	struct jp_skipped {
		const char *validator,
			*lack; /* constants: which validator did not judge, and why */
	} * skipped;
	size_t nr_skipped, skipped_capacity;
	struct jp_reader *readers;
	size_t nr_readers, readers_capacity;
	char error[1024];  /* not "": the case is an ERROR for this reason */
	bool contradicted; /* the reason is a contradiction with the runner: no figure counts */
	bool failed;       /* memory ran out, and metrics are missing */
};

void jp_findings_free(struct jp_findings *findings);
/* Adds @metric. Out of memory sets @findings->failed, which jp_findings_append() reports. */
void jp_findings_add(struct jp_findings *findings, struct jp_metric metric);
/* Adds jp_metric_rate(). */
void jp_findings_add_rate(struct jp_findings *findings, const char *name, uint64_t k, uint64_t n);
/* Adds jp_metric_count(). */
void jp_findings_add_count(struct jp_findings *findings, const char *name, uint64_t k);
/* Appends all of @more; none of its exceptions may be in @findings. Returns 0, or -ENOMEM, also if
 * @more failed. */
int jp_findings_append(struct jp_findings *findings, const struct jp_findings *more);
const struct jp_metric *jp_findings_metric(const struct jp_findings *findings, const char *name);
/* Adds a metric with a role in every case: @role is constant. */
void jp_findings_add_as(struct jp_findings *findings, const struct jp_role *role,
			struct jp_metric metric);
/* Counts one failure. If the returned count is 1, the caller must describe it. Returns NULL if out
 * of memory. */
struct jp_exception *jp_findings_count(struct jp_findings *findings, const char *kind,
				       enum jp_method method, const char *cause);
/* Notes that @validator does not judge as the capture declares @lack. Returns 0 or -ENOMEM. */
int jp_findings_skip(struct jp_findings *findings, const char *validator, const char *lack);
/* Adds @reader. Returns 0 or -ENOMEM. */
int jp_findings_add_reader(struct jp_findings *findings, const struct jp_reader *reader);
/* Counts one failure without a method, and describes the first. Returns 0 or -ENOMEM. */
int jp_findings_except(struct jp_findings *findings, const char *kind, const char *cause,
		       const char *first, ...) __attribute__((format(printf, 4, 5)));
