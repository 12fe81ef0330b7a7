/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/boxes.h"
#include "harness/model/oracle/truth.h"

/* What the truth mapped and did not make executable, for as long as it left that so. */
struct jp_plain {
	const struct jp_event *act;
	/* When the mapping was next touched, at most: until then it was as @act made it. */
	uint64_t untouched;
};

struct jp_plains {
	struct jp_plain *list; /* in the order of acts */
	size_t count, capacity;
	struct jp_boxes boxes; /* from the end of the act until it was touched */
};

/* 0 or -ENOMEM; free it in both cases. */
int jp_plains_of(const struct jp_truth *truth, struct jp_plains *plains);
void jp_plains_free(struct jp_plains *plains);
