// SPDX-License-Identifier: GPL-2.0-only
#include "harness/explain/ends.h"

/* What ends and images tell of code that no record announces. */

bool jp_image_replaced(const struct jp_image *image)
{
	enum { FEW = 10, LEAST = 5 };
	/* Further apart than a JIT's memory: a program is here, and its libraries are there. */
	const uint64_t far = UINT64_C(1) << 40;

	if (!image->files || (image->elsewhere >= LEAST && image->elsewhere * 2 >= image->unmapped))
		return true;
	if (image->unmapped_since < LEAST ||
	    (image->unmapped - image->unmapped_since) * FEW >= image->unmapped)
		return false;
	return (image->in_files && image->in_files * FEW >= image->unmapped) ||
	       image->high - image->low >= far;
}

bool jp_end_has_unknown_caller(const struct jp_end *end)
{
	enum { FEW = 10, LEAST = 5, LOWEST = 0x1000 };

	/* Garbage differs from sample to sample. */
	return end->kind == JP_END_HERE && end->use == JP_FRAME_LINKED && end->again >= LEAST &&
	       end->again * FEW >= end->samples * (FEW - 1) && end->next >= LOWEST &&
	       end->next < UINT64_C(1) << 47;
}
