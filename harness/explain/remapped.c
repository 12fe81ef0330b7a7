// SPDX-License-Identifier: GPL-2.0-only
#include "harness/explain/remapped.h"

#include "harness/model/space/mapping_name.h"

const char jp_remapped_remedy[] = "run it without large pages for its text: node without "
				  "--use-largepages, others without the "
				  "preloaded library that copies it (liblppreload.so)";

static bool is_memory(const struct jp_mapping *mapping)
{
	return mapping->backing == JP_BACKING_ANON && mapping->prot & JP_PROT_EXEC;
}

/* Returns the mapping of a file next to @memory, above or below. Returns NULL if there is a hole in
 * between, or more than PIECES mappings of memory. */
static const struct jp_mapping *find_neighbour(struct jp_replay *replay, uint32_t pid,
					       const struct jp_mapping *memory, bool above)
{
	enum { PIECES = 64 };
	const struct jp_mapping *next = memory;

	/* The text may be copied in pieces. */
	for (int i = 0; i < PIECES && next && is_memory(next); i++)
		next = jp_replay_find(replay, pid, above ? next->end : next->start - 1);
	return next && next->backing == JP_BACKING_FILE && next->prot & JP_PROT_EXEC ? next : NULL;
}

bool jp_is_remapped_text(struct jp_replay *replay, uint32_t pid, const struct jp_mapping *memory,
			 struct jp_mapping *text)
{
	const struct jp_mapping *below, *above;

	if (!is_memory(memory))
		return false;
	below = find_neighbour(replay, pid, memory, false);
	above = below ? find_neighbour(replay, pid, memory, true) : NULL;
	/* A replay stores each name once, so pointers can be compared. */
	if (!above || jp_mapping_injected(below->name) || below->name != above->name ||
	    below->ino != above->ino || above->pgoff - below->pgoff != above->start - below->start)
		return false;
	*text = *below;
	text->start = memory->start;
	text->end = memory->end;
	text->pgoff = below->pgoff + (memory->start - below->start);
	return true;
}

const struct jp_mapping *jp_remapped_find(struct jp_replay *replay, uint32_t pid, uint64_t addr,
					  struct jp_mapping *text)
{
	const struct jp_mapping *mapping = jp_replay_find(replay, pid, addr);

	return mapping && jp_is_remapped_text(replay, pid, mapping, text) ? text : mapping;
}
