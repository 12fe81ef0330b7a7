// SPDX-License-Identifier: GPL-2.0-only
#include "harness/explain/culprits.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/base/array.h"

static uint64_t make_key(const struct jp_end *end)
{
	const uint64_t file = end->code == JP_CODE_EMITTED ? 0 : (uintptr_t)end->file;

	return (uintptr_t)end->image * UINT64_C(0x9e3779b97f4a7c15) ^ file;
}

static struct jp_culprit *get_culprit(struct jp_culprits *culprits, const struct jp_end *end)
{
	size_t *at = jp_map_at(&culprits->at, make_key(end), sizeof(*at));
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
		.has_fp = end->has_fp,
	};
	return culprit;
}

static int add_end(struct jp_culprits *culprits, const struct jp_end *end)
{
	struct jp_culprit *culprit = get_culprit(culprits, end);

	if (!culprit)
		return -ENOMEM;
	culprit->start = end->start < culprit->start ? end->start : culprit->start;
	culprit->end = end->end > culprit->end ? end->end : culprit->end;
	if (end->kind == JP_END_LEAF) {
		culprit->passing += end->samples;
		if (end->skips && !culprit->leaf)
			culprit->leaf = end;
		if (!jp_end_has_no_frame(end)) {
			culprit->no_caller += end->skips;
			return 0;
		}
		culprit->no_caller += end->samples - end->system;
		if (!culprit->leaf || end->samples > culprit->leaf->samples)
			culprit->leaf = end;
		return 0;
	}
	culprit->broken += end->samples;
	culprit->starting += end->starting;
	culprit->system += end->system;
	culprit->single += end->kind == JP_END_SINGLE ? end->samples : 0;
	culprit->garbage += end->garbage;
	if (!culprit->worst || end->samples > culprit->worst->samples)
		culprit->worst = end;
	return 0;
}

/* Returns whether chains that end at @end are complete, because programs or threads begin there. In
 * programs with a libc, they begin in libc. In static programs, or if the program itself creates
 * threads, there are few such addresses, and each has many samples. */
static bool is_root(const struct jp_end *end)
{
	enum { PROGRAM_PART = 10, EMITTED_PART = 3, DEEP = 3 };

	if (end->kind != JP_END_HERE || end->astray * 2 > end->samples)
		return false;
	/* A thread begins in one place, unlike callbacks of libc such as qsort()'s. */
	if (end->code == JP_CODE_LIBC && end->use == JP_FRAME_USED && end->image->main_root)
		return end->main * 2 < end->samples;
	if (end->code == JP_CODE_LIBC || end->code == JP_CODE_LOADER || end->use == JP_FRAME_ROOT)
		return true;
	if (end->code == JP_CODE_EMITTED)
		return !end->garbage && end->nr_frames >= end->samples * DEEP &&
		       end->samples * EMITTED_PART >= end->image->here[end->code];
	/* Without a libc, the program is static; a loader such as PRoot's may have mapped it. */
	if (!end->image->libc)
		return end->code == JP_CODE_PROGRAM || end->code == JP_CODE_FILE;
	if (end->code != JP_CODE_PROGRAM)
		return false;
	/* The chain lacks the caller alone, which has no frame either: the C library's start. */
	if (end->frameless_call)
		return true;
	/* Coroutines begin in hand-written code; at such a place, no garbage follows. */
	return end->use == JP_FRAME_UNKNOWN && end->garbage * 2 <= end->samples &&
	       end->samples * PROGRAM_PART >= end->image->here[end->code];
}

bool jp_image_shows_callers(const struct jp_image *image)
{
	enum { FEW = 20 };

	return image->in_jit && image->calls_jit * FEW >= image->in_jit;
}

/* Returns whether @end is in a file, but emitted code may have broken the chains that end there:
 * their samples are in emitted code, and no chain shows emitted code with an emitted caller. */
static bool is_shared(const struct jp_end *end)
{
	return end->kind != JP_END_LEAF && end->code != JP_CODE_EMITTED && end->from_jit &&
	       !jp_image_shows_callers(end->image);
}

static int add_shared_end(struct jp_culprits *culprits, const struct jp_end *end)
{
	const struct jp_image *image = end->image;
	struct jp_culprit *emitted;

	if (!is_shared(end))
		return 0;
	emitted = get_culprit(culprits, &(struct jp_end){.image = end->image,
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

/* Returns whether chains that end at @end have no fault: what looks like garbage may be code
 * without a mapping record. */
static bool is_faultless(const struct jp_end *end)
{
	return jp_image_was_replaced(end->image) || jp_end_has_unknown_caller(end) ||
	       (end->kind != JP_END_LEAF && is_root(end));
}

int jp_culprits_find(const struct jp_ends *ends, struct jp_culprits *culprits)
{
	*culprits = (struct jp_culprits){0};
	for (size_t i = 0; i < ends->count; i++) {
		const struct jp_end *end = &ends->list[i];
		int ret;

		if (end->kind != JP_END_LEAF && end->kind != JP_END_SINGLE &&
		    end->kind != JP_END_HERE)
			continue;
		if (is_faultless(end))
			continue;
		ret = add_end(culprits, end) ?: add_shared_end(culprits, end);
		if (ret)
			return ret;
	}
	return 0;
}

static struct jp_culprit *find_culprit(const struct jp_culprits *culprits, const struct jp_end *end)
{
	const size_t *at = jp_map_find(&culprits->at, make_key(end));

	return at && *at ? &culprits->list[*at - 1] : NULL;
}

/* Returns the culprit that broke chains which end at @here, or NULL. It must be emitted code if
 * @lacking is, else code of a file. */
static const struct jp_culprit *find_breaking_culprit(const struct jp_culprits *culprits,
						      const struct jp_end *here,
						      const struct jp_culprit *lacking)
{
	const bool emitted = lacking->code == JP_CODE_EMITTED;
	const struct jp_culprit *breaker;

	if (is_faultless(here))
		return NULL;
	if (emitted && is_shared(here))
		return lacking;
	breaker = find_culprit(culprits, here);
	return breaker && breaker->breaks && emitted == (here->code == JP_CODE_EMITTED) ? breaker
											: NULL;
}

void jp_culprits_join(const struct jp_ends *ends, struct jp_culprits *culprits)
{
	const uint64_t *samples;
	uint64_t key;

	for (size_t at = 0; (samples = jp_map_next(&ends->both, &at, &key));) {
		struct jp_culprit *lacking = find_culprit(culprits, &ends->list[(uint32_t)key]);
		const struct jp_culprit *breaker;

		if (!lacking || !lacking->lacks)
			continue;
		breaker = find_breaking_culprit(culprits, &ends->list[key >> 32], lacking);
		if (breaker == lacking)
			lacking->both += *samples;
		else if (breaker)
			lacking->again += *samples;
	}
}

void jp_culprits_free(struct jp_culprits *culprits)
{
	free(culprits->list);
	jp_map_free(&culprits->at);
	*culprits = (struct jp_culprits){0};
}
