/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/judge/findings.h"
#include "validators/code_incarnations.h"

/* From bad to good: a wrong name is worse than no name. */
enum jp_named { JP_NAME_WRONG, JP_NAME_NONE, JP_NAME_RIGHT, JP_NAMES };
/* The texts "wrong", "unnamed" and "right". */
extern const char *const jp_named_text[JP_NAMES];

struct jp_named_sample {
	uint64_t time, ip;
	uint32_t pid, tid, cpu;
	enum jp_named named;
	bool covered; /* by a later record, in the capture before inject */
};

/* The judged samples of one file. */
struct jp_named_samples {
	struct jp_named_sample *samples;
	size_t count, capacity;
};
/* Returns 0 or -ENOMEM. */
int jp_named_samples_add(struct jp_named_samples *samples, const struct jp_named_sample *sample);
void jp_named_samples_free(struct jp_named_samples *samples);

/* How inject changed the names of samples. */
struct jp_names_change {
	uint64_t covered,
		covered_bad; /* samples that a later record covers; those not named rightly */
	uint64_t both, better, worse, lost;
};
/* Compares each sample before and after inject: exceptions inject.lost (not in both) and
 * inject.worse. Sorts both lists; every sample lies in one of @incarnations. Returns 0 or
 * -ENOMEM. */
int jp_names_compare(struct jp_named_samples *before, struct jp_named_samples *after,
		     const struct jp_incarnations *incarnations, struct jp_findings *findings,
		     struct jp_names_change *change);
