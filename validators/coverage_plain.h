/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/boxes.h"
#include "harness/model/oracle/truth.h"

/* Memory that the truth mapped without execution, for as long as it stayed so. */
struct jp_plain {
	const struct jp_event *act;
	/* Latest time at which the mapping was surely still as @act made it. */
	uint64_t untouched;
};

struct jp_plains {
	struct jp_plain *list; /* in the order of acts */
	size_t count, capacity;
	struct jp_boxes boxes; /* from the end of the act until the next touch */
};

/* Returns 0 or -ENOMEM; free @plains in both cases. */
int jp_plains_of(const struct jp_truth *truth, struct jp_plains *plains);
void jp_plains_free(struct jp_plains *plains);
