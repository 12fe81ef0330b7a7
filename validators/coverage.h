/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/boxes.h"
#include "harness/judge/spans.h"
#include "harness/judge/validator.h"
#include "harness/model/oracle/truth.h"

/* Memory that the truth mapped without PROT_EXEC. */
struct jp_plain {
	const struct jp_event *act;
	/* Start of the next act that changed the mapping, in ns; UINT64_MAX: none. */
	uint64_t untouched;
};

struct jp_plains {
	struct jp_plain *list; /* in the order of the truth's acts */
	size_t count, capacity;
	struct jp_boxes boxes; /* each from the end of the act to the plain's @untouched */
};

/* Stores in @plains all memory that @truth mapped without PROT_EXEC. Returns 0 or -ENOMEM; free
 * @plains in both cases. */
int jp_plains_collect(const struct jp_truth *truth, struct jp_plains *plains);
void jp_plains_free(struct jp_plains *plains);

/* Ranges of time and addresses in which a process has no executable memory: the gaps between its
 * spans. Searching gaps is fast: it does not walk a chain of adjacent spans. */
struct jp_gaps {
	uint64_t *starts; /* first address of each box */
	size_t count, capacity;
	struct jp_boxes boxes;
};

/* Computes the gaps of @spans. Each span begins @slack ns before its open_before. Returns 0 or
 * -ENOMEM; free @gaps in both cases. */
int jp_gaps_compute(const struct jp_spans *spans, uint64_t slack, struct jp_gaps *gaps);
/* Returns the first address of [@start, @end) in no span of @pid at @time, or @end. @pid must have
 * spans. */
uint64_t jp_gaps_find_first(const struct jp_gaps *gaps, uint32_t pid, uint64_t start, uint64_t end,
			    uint64_t time);
void jp_gaps_free(struct jp_gaps *gaps);

/* State of the validator that finds mappings which the capture lacks, and wrong ones:
 * mapping_coverage.c judges the mappings, coverage_samples.c the samples in them. */

/* A thread that was sampled in a mapping after an mprotect() had closed it. */
struct jp_closed_sample {
	uint32_t tid;
	const struct jp_span *span;
};

struct jp_coverage {
	struct jp_view *view;
	struct jp_findings
		by_samples; /* findings about samples, appended to those about mappings */
	struct jp_plains plains;
	struct jp_gaps gaps; /* addresses and times without executable memory */
	/* Index of a span of the truth -> 1 + time of the record that is stale since its end. */
	struct jp_map reported;
	const struct jp_span **spans; /* result of jp_coverage_find() */
	size_t nr_found, found_capacity;
	uint64_t missing, late, late_ns, stale, identity;
	uint64_t samples, samples_known, stray_samples;
	struct jp_closed_sample *closed;
	size_t nr_closed, closed_capacity;
	double true_area, known_area; /* bytes x seconds */
};

/* Returns whether both mappings have the same backing at @addr, and the same name and offset if
 * that kind of backing has a name and an offset. The truth has no inodes: only offsets distinguish
 * two memfds of one name. */
bool jp_coverage_is_same_mapping(const struct jp_mapping *truth, const struct jp_mapping *mapping,
				 uint64_t addr);
/* Stores in @coverage->found the spans of @pid that overlap @box, in their order in @spans. Returns
 * 0 or -ENOMEM. */
int jp_coverage_find(struct jp_coverage *coverage, const struct jp_spans *spans, uint32_t pid,
		     const struct jp_box *box);
/* Returns the truth's last mapping of @addr in @pid that ended before @time, or NULL. */
const struct jp_span *jp_coverage_find_ended(const struct jp_coverage *coverage, uint32_t pid,
					     uint64_t addr, uint64_t time);
/* Judges the mapping in which a sample lies. Returns 0 or -ENOMEM. */
int jp_coverage_sample(struct jp_coverage *coverage, const struct jp_event *event);
