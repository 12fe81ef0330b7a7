// SPDX-License-Identifier: GPL-2.0-only
#include "harness/explain/culprits.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/base/array.h"

static struct jp_culprit *culprit_of(struct jp_culprits *culprits, const struct jp_end *end)
{
	const bool emitted = end->code == JP_CODE_EMITTED;
	const uint64_t file = emitted ? 0 : (uintptr_t)end->file;
	const uint64_t key = (uintptr_t)end->image * UINT64_C(0x9e3779b97f4a7c15) ^ file;
	size_t *at = jp_map_at(&culprits->at, key, sizeof(*at));
	struct jp_culprit *culprit;

	if (!at)
		return NULL;
	if (*at)
		return &culprits->list[*at - 1];
	culprit = jp_array_push(&culprits->list, &culprits->count, &culprits->capacity);
	if (!culprit)
		return NULL;
	*at = culprits->count;
	*culprit = (struct jp_culprit){
		.image = end->image,
		.file = end->file,
		.code = end->code,
		.start = end->start,
		.end = end->end,
		.keeps = end->keeps,
	};
	return culprit;
}

static int add_end(struct jp_culprits *culprits, const struct jp_end *end)
{
	struct jp_culprit *culprit = culprit_of(culprits, end);

	if (!culprit)
		return -ENOMEM;
	culprit->start = end->start < culprit->start ? end->start : culprit->start;
	culprit->end = end->end > culprit->end ? end->end : culprit->end;
	if (end->kind == JP_END_LEAF) {
		culprit->passing += end->samples;
		if (end->skips && !culprit->leaf)
			culprit->leaf = end;
		culprit->callers += end->skips;
		if (end->keeps || (end->use != JP_FRAME_KEPT && end->use != JP_FRAME_USED))
			return 0;
		culprit->callers += end->samples;
		if (!culprit->leaf || end->samples > culprit->leaf->samples)
			culprit->leaf = end;
		return 0;
	}
	culprit->broken += end->samples;
	culprit->single += end->kind == JP_END_SINGLE ? end->samples : 0;
	culprit->garbage += end->garbage;
	if (!culprit->worst || end->samples > culprit->worst->samples)
		culprit->worst = end;
	return 0;
}

/* Whether chains that end at @end are whole: there programs and threads begin. In a program with a
 * libc that is in libc; where the program is linked statically, or code of its own starts threads,
 * they are few addresses with many samples. */
static bool is_root(const struct jp_end *end)
{
	enum { PROGRAM_PART = 10, EMITTED_PART = 3, DEEP = 3 };

	if (end->kind != JP_END_HERE)
		return false;
	/* A thread begins in one place: what functions of libc call, such as qsort(), does not. */
	if (end->code == JP_CODE_LIBC && end->use == JP_FRAME_USED && end->image->main_root)
		return end->main * 2 < end->samples;
	if (end->code == JP_CODE_LIBC || end->code == JP_CODE_LOADER || end->use == JP_FRAME_ROOT)
		return true;
	if (end->code == JP_CODE_EMITTED)
		return !end->garbage && end->nr_frames >= end->samples * DEEP &&
		       end->samples * EMITTED_PART >= end->image->here[end->code];
	if (end->code != JP_CODE_PROGRAM)
		return false;
	if (!end->image->libc)
		return true;
	return end->use == JP_FRAME_UNKNOWN &&
	       end->samples * PROGRAM_PART >= end->image->here[end->code];
}

bool jp_image_shows_callers(const struct jp_image *image)
{
	enum { FEW = 20 };

	return image->calls_jit * FEW >= image->in_jit;
}

/* Where @end is in a file, and emitted code may have brought it about: it is on top, and no chain
 * shows that it has a caller of its kind. */
static int share_end(struct jp_culprits *culprits, const struct jp_end *end)
{
	const struct jp_image *image = end->image;
	struct jp_culprit *emitted;

	if (end->kind == JP_END_LEAF || end->code == JP_CODE_EMITTED || !end->from_jit ||
	    jp_image_shows_callers(image))
		return 0;
	emitted = culprit_of(culprits, &(struct jp_end){.image = end->image,
							.code = JP_CODE_EMITTED,
							.file = image->anon,
							.start = UINT64_MAX});
	if (!emitted)
		return -ENOMEM;
	emitted->shared += end->from_jit;
	if (!emitted->worst)
		emitted->worst = end;
	return 0;
}

int jp_culprits_find(const struct jp_ends *ends, struct jp_culprits *culprits)
{
	*culprits = (struct jp_culprits){0};
	for (size_t i = 0; i < ends->count; i++) {
		const struct jp_end *end = &ends->list[i];
		const bool leaf = end->kind == JP_END_LEAF;
		int ret;

		if (!leaf && end->kind != JP_END_SINGLE && end->kind != JP_END_HERE)
			continue;
		/* What looks like garbage may be code that nobody told of. */
		if (jp_image_replaced(end->image) || jp_end_has_unknown_caller(end))
			continue;
		if (!leaf && is_root(end))
			continue;
		ret = add_end(culprits, end) ?: share_end(culprits, end);
		if (ret)
			return ret;
	}
	return 0;
}

void jp_culprits_free(struct jp_culprits *culprits)
{
	free(culprits->list);
	jp_map_free(&culprits->at);
	*culprits = (struct jp_culprits){0};
}
