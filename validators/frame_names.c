// SPDX-License-Identifier: GPL-2.0-only
#include "validators/frame_names.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "validators/stack_verdict.h"

int jp_frame_names_init(struct jp_frame_names *names, const struct jp_truth *truth)
{
	names->truth = truth;
	for (size_t i = 0; i < truth->nr_codes; i++) {
		const char *name = truth->codes[i].name;
		struct jp_text *text;

		if (truth->codes[i].in_file)
			continue;
		text = jp_text_keep(&names->texts, name, strlen(name));
		if (!text)
			return -ENOMEM;
		text->value = text;
	}
	return 0;
}

uint64_t jp_frame_get_name_number(struct jp_frame_names *names, const char *name)
{
	const struct jp_text *text;

	if (!name)
		return JP_FRAME_UNNAMED;
	text = jp_text_keep(&names->texts, name, strlen(name));
	return text && text->value ? JP_FRAME_FIRST + text->number : JP_FRAME_NATIVE;
}

void jp_frame_get_name_numbers(struct jp_frame_names *names, uint32_t pid, uint64_t time,
			       const uint64_t *frames, uint32_t count, uint64_t *numbers)
{
	for (uint32_t i = 0; i < count; i++) {
		/* A return address is the address after the call. */
		const struct jp_truth_code *code =
			jp_truth_code_at(names->truth, pid, frames[i] - !!i, time);

		numbers[i] = code ? jp_frame_get_name_number(names, code->name) : JP_FRAME_NATIVE;
	}
}

/* Returns the verdict for @recorded_ips after each unnamed frame has got the number that @filler
 * has at the same index. */
static enum jp_verdict judge_with_unnamed_filled(uint64_t *recorded_ips, uint32_t nr_seen,
						 const uint64_t *filler, uint32_t nr_other,
						 const uint64_t *must, uint32_t nr_must,
						 const uint64_t *complete, uint32_t nr_whole)
{
	uint64_t marks[JP_FRAME_MOST / 64] = {0};
	enum jp_verdict verdict;

	for (uint32_t i = 0; i < nr_seen && i < nr_other; i++) {
		if (recorded_ips[i] != JP_FRAME_UNNAMED)
			continue;
		marks[i / 64] |= UINT64_C(1) << i % 64;
		recorded_ips[i] = filler[i];
	}
	verdict = jp_stack_verdict(recorded_ips, nr_seen, must, nr_must, complete, nr_whole);
	for (uint32_t i = 0; i < nr_seen; i++)
		if (marks[i / 64] >> i % 64 & 1)
			recorded_ips[i] = JP_FRAME_UNNAMED;
	return verdict;
}

enum jp_verdict jp_frame_verdict(uint64_t *recorded_ips, uint32_t nr_seen, const uint64_t *must,
				 uint32_t nr_must, const uint64_t *complete, uint32_t nr_whole)
{
	enum jp_verdict must_verdict = judge_with_unnamed_filled(
		recorded_ips, nr_seen, must, nr_must, must, nr_must, complete, nr_whole);
	enum jp_verdict whole_verdict = judge_with_unnamed_filled(
		recorded_ips, nr_seen, complete, nr_whole, must, nr_must, complete, nr_whole);
	bool is_unnamed = false;

	for (uint32_t i = 0; i < nr_seen && !is_unnamed; i++)
		is_unnamed = recorded_ips[i] == JP_FRAME_UNNAMED;
	must_verdict = must_verdict > whole_verdict ? must_verdict : whole_verdict;
	return is_unnamed && (must_verdict == JP_WRONG || must_verdict == JP_EXTRA) ? JP_HOLE
										    : must_verdict;
}

bool jp_frame_has_all_code_named(const struct jp_truth *truth)
{
	for (size_t i = 0; i < truth->nr_codes; i++)
		if (truth->codes[i].in_file)
			return false;
	return true;
}

void jp_frame_names_free(struct jp_frame_names *names)
{
	jp_text_pool_free(&names->texts);
}
