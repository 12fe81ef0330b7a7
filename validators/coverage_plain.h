/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/boxes.h"
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
