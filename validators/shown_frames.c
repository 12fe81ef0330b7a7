// SPDX-License-Identifier: GPL-2.0-only
#include "validators/shown_frames.h"

#include "harness/base/order.h"

bool jp_shown_frame_has_address(const struct jp_shown_frame *frame, uint64_t addr, bool caller,
				const struct jp_mapping *mapping)
{
	const uint64_t shift = mapping ? mapping->start - mapping->pgoff : 0;

	return frame->addr == addr || frame->addr == addr - shift ||
	       (caller && (frame->addr == addr - 1 || frame->addr == addr - 1 - shift));
}

struct comparison {
	struct jp_replay *spaces;
	uint32_t pid;
	const struct jp_shown_frame *shown;
	const uint64_t *held;
	uint32_t nr_shown, nr_held;
};

/* Returns whether the shown frame number @i is the file's frame number @j. */
static bool is_same(const struct comparison *comparison, uint32_t i, uint32_t j)
{
	const bool is_caller = j > 0;

	if (i >= comparison->nr_shown || j >= comparison->nr_held)
		return false;
	/* A reader that shows only names still shows the number of frames. */
	if (!comparison->shown[i].placed)
		return true;
	/* perf looks for a caller of a callchain at its address, for an unwound one before it. */
	for (uint64_t before = 0; before <= is_caller; before++) {
		const uint64_t addr = comparison->held[j] - before;

		if (jp_shown_frame_has_address(
			    &comparison->shown[i], comparison->held[j], is_caller,
			    jp_replay_find_as_perf(comparison->spaces, comparison->pid, addr)))
			return true;
	}
	return false;
}

/* Compares all frames. @ends: no further shown frame may follow those of the file. */
static struct jp_shown_fault compare_frames(const struct comparison *comparison, bool ends)
{
	struct jp_shown_fault fault = {.nr_shown = comparison->nr_shown,
				       .nr_recorded = comparison->nr_held};
	const uint32_t min = (uint32_t)jp_min(comparison->nr_shown, comparison->nr_held);
	uint32_t index = 0;

	while (index < min && is_same(comparison, index, index))
		index++;
	fault.frame = index;
	if (index == comparison->nr_held)
		fault.cause = ends && comparison->nr_shown > index ? "extra-frame" : NULL;
	else if (index == comparison->nr_shown)
		fault.cause = index ? "cut" : "no-frames";
	else if (is_same(comparison, index, index + 1) && is_same(comparison, index + 1, index))
		fault.cause = "frame-order";
	else if (is_same(comparison, index, index + 1))
		fault.cause = "missing-frame";
	else if (is_same(comparison, index + 1, index))
		fault.cause = "extra-frame";
	else
		fault.cause = "other-frame";
	return fault;
}

struct jp_shown_fault jp_shown_compare(struct jp_replay *spaces, const struct jp_held *held,
				       const struct jp_shown_frame *frames, uint32_t count)
{
	const bool both = held->chained && held->has_dump;
	const struct comparison chain = {.spaces = spaces,
					 .pid = held->event->pid,
					 .shown = frames,
					 .nr_shown = count,
					 .held = held->user_chain,
					 .nr_held = held->nr_user};
	struct comparison dump = chain;
	struct jp_shown_fault fault = {0}, unwound;

	if (held->chained)
		fault = compare_frames(&chain, !both);
	if (!held->dump)
		return fault;
	dump.held = held->dump;
	dump.nr_held = held->nr_dump;
	if (both && !fault.cause) {
		dump.shown += held->nr_user;
		dump.nr_shown -= held->nr_user;
	}
	unwound = compare_frames(&dump, held->reaches_root);
	unwound.is_unwound = true;
	/* A reader may show the frames of the dump alone, but then it must show all of them. */
	return fault.cause && unwound.cause ? fault : unwound;
}
