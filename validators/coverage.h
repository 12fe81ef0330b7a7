/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/judge/validator.h"
#include "validators/coverage_gaps.h"
#include "validators/coverage_plain.h"

/* State of mapping coverage, shared by mappings (mapping_coverage.c) and samples
 * (coverage_samples.c). */

struct jp_standing {
	uint32_t tid;
	const struct jp_span *closed;
};

struct jp_coverage {
	const struct jp_view *view;
	const struct jp_evidence *evidence;
	struct jp_findings *findings;
	struct jp_findings by_samples; /* behind those of the mappings */
	struct jp_plains plains;
	struct jp_gaps gaps;          /* of the truth's spans */
	const struct jp_span **found; /* by jp_coverage_find() */
	size_t nr_found, found_capacity;
	uint64_t missing, late, late_ns, stale, identity;
	uint64_t samples, samples_known, stray;
	struct jp_standing *standing; /* threads that were sampled in closed pages */
	size_t nr_standing, standing_capacity;
	double true_area, known_area; /* bytes x seconds */
};

/* Returns whether both mappings have the same backing, the same name (if the backing has names)
 * and, at @addr, the same offset (if it has offsets). The truth has no inodes: only their offsets
 * distinguish two memfds of one name. */
bool jp_coverage_identical(const struct jp_mapping *truth, const struct jp_mapping *known,
			   uint64_t addr);
/* Stores in @found those of @pid's @spans that lie in @box from open_before to close_after, in
 * their order. Returns 0 or -ENOMEM. */
int jp_coverage_find(struct jp_coverage *coverage, const struct jp_spans *spans, uint32_t pid,
		     const struct jp_box *box);
/* Returns the truth's mapping of @addr in @pid that ended last before @time, or NULL. */
const struct jp_span *jp_coverage_ended(const struct jp_coverage *coverage, uint32_t pid,
					uint64_t addr, uint64_t time);
/* Judges the mapping in which a sample lies. Returns 0 or -ENOMEM. */
int jp_coverage_sample(struct jp_coverage *coverage, const struct jp_event *event);
