// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/oracle/executable_space.h"

#include <errno.h>
#include <inttypes.h>

#include "harness/base/array.h"
#include "harness/base/order.h"
#include "harness/base/page.h"

static const struct jp_range_kind pieces = {.size = sizeof(struct jp_memory_piece)};

bool jp_memory_is_changed_by(const struct jp_event *act)
{
	return act->type == JP_EVENT_MAP || act->type == JP_EVENT_PROTECT ||
	       act->type == JP_EVENT_REMAP || act->type == JP_EVENT_UNMAP;
}

int jp_memory_add(struct jp_memory_replay *replay, const struct jp_memory_space *space,
		  const struct jp_memory_piece *piece, const struct jp_event *act, uint64_t before,
		  uint64_t after)
{
	return jp_array_append(
		&replay->executables->list, &replay->executables->count,
		&replay->executables->capacity,
		(struct jp_executable){.pid = space->process.pid,
				       .prot = piece->prot,
				       .start = piece->start,
				       .end = piece->end,
				       .distance = piece->distance,
				       .memory = piece->memory,
				       .open_before =
					       jp_max(piece->open_before, space->born_before),
				       .open_after = jp_max(piece->open_after, space->born_after),
				       .close_before = before,
				       .close_after = after,
				       .closed_by = act ? act->type : JP_EVENT_END});
}

bool jp_memory_next(const struct jp_memory_space *space, uint64_t start, uint64_t end,
		    struct jp_memory_piece *part)
{
	const struct jp_memory_piece *piece =
		space->pieces && start < end ? jp_ranges_find_at_or_above(space->pieces, start)
					     : NULL;

	if (!piece || piece->start >= end)
		return false;
	*part = *piece;
	part->start = jp_max(piece->start, start);
	part->end = jp_min(piece->end, end);
	return true;
}

int jp_memory_close(struct jp_memory_replay *replay, struct jp_memory_space *space, uint64_t start,
		    uint64_t end, const struct jp_event *act, uint64_t before, uint64_t after)
{
	struct jp_memory_piece part;
	int failed = 0;

	for (uint64_t addr = start; !failed && jp_memory_next(space, addr, end, &part);
	     addr = part.end)
		if (part.prot & JP_PROT_EXEC)
			failed = jp_memory_add(replay, space, &part, act, before, after);
	return failed;
}

int jp_memory_put(struct jp_memory_space *space, const struct jp_memory_piece *piece)
{
	if (!space->pieces && !(space->pieces = jp_ranges_new_of_kind(&pieces)))
		return -ENOMEM;
	return jp_ranges_put(&space->pieces, piece);
}

size_t jp_memory_new(struct jp_memory_replay *replay, const struct jp_event *act)
{
	struct jp_executables *executables = replay->executables;
	struct jp_memory *memory = jp_array_push(&executables->memories, &executables->nr_memories,
						 &executables->memories_capacity);

	if (!memory)
		return SIZE_MAX;
	memory->act = act;
	return executables->nr_memories - 1;
}

static int map(struct jp_memory_replay *replay, struct jp_memory_space *space,
	       const struct jp_event *act, size_t memory)
{
	uint64_t end = act->map.addr + act->map.len;

	return jp_memory_close(replay, space, act->map.addr, end, act, act->before, act->after)
		       ?: jp_memory_put(space, &(struct jp_memory_piece){.start = act->map.addr,
									 .end = end,
									 .memory = memory,
									 .open_before = act->before,
									 .open_after = act->after,
									 .prot = act->map.prot});
}

static int protect(struct jp_memory_replay *replay, struct jp_memory_space *space,
		   const struct jp_event *act)
{
	uint64_t end = act->map.addr + act->map.len;
	struct jp_memory_piece part;
	int failed = 0;

	for (uint64_t addr = act->map.addr; !failed && jp_memory_next(space, addr, end, &part);
	     addr = part.end) {
		if (part.prot == act->map.prot)
			continue;
		if (part.prot & JP_PROT_EXEC)
			failed = jp_memory_add(replay, space, &part, act, act->before, act->after);
		part.prot = act->map.prot;
		part.open_before = act->before;
		part.open_after = act->after;
		failed = failed ?: jp_memory_put(space, &part);
	}
	return failed;
}

static int unmap(struct jp_memory_replay *replay, struct jp_memory_space *space,
		 const struct jp_event *act)
{
	uint64_t start = act->map.addr & -(uint64_t)JP_PAGE_SMALLEST;
	uint64_t end =
		(act->map.addr + act->map.len + JP_PAGE_SMALLEST - 1) & -(uint64_t)JP_PAGE_SMALLEST;

	return jp_memory_close(replay, space, start, end, act, act->before, act->after)
		       ?: space->pieces ? jp_ranges_clear(&space->pieces, start, end)
					: 0;
}

/* Moves the pieces of a mapping; growth extends the last piece. */
static int remap_memory(struct jp_memory_replay *replay, struct jp_memory_space *space,
			const struct jp_event *act)
{
	const uint64_t from = act->map.addr, by = act->map.new_addr - from;
	uint64_t end = from + act->map.len, to_end = act->map.new_addr + act->map.new_len;
	struct jp_ranges *old = space->pieces ? jp_ranges_share(space->pieces) : NULL;
	struct jp_memory_space was = *space;
	struct jp_memory_piece part;
	int failed = jp_memory_close(replay, space, act->map.new_addr, to_end, act, act->before,
				     act->after)
			     ?: unmap(replay, space, act);

	was.pieces = old;
	if (!failed && old)
		failed = jp_ranges_clear(&space->pieces, act->map.new_addr, to_end);
	for (uint64_t addr = from; !failed && jp_memory_next(&was, addr, end, &part);) {
		addr = part.end;
		part.end += by;
		if (addr == end || part.end > to_end)
			part.end = to_end;
		part.start += by;
		part.distance += by;
		part.open_before = act->before;
		part.open_after = act->after;
		if (part.start < to_end)
			failed = jp_memory_put(space, &part);
	}
	jp_ranges_free(old);
	return failed;
}

/* Checks that a workload unmaps only memory whose mapping it reported. */
static int check_is_mapped(const struct jp_memory_replay *replay,
			   const struct jp_memory_space *space, const struct jp_event *act)
{
	const uint64_t end = act->map.addr + act->map.len;
	uint64_t addr = act->map.addr;
	struct jp_memory_piece part;

	while (addr < end && jp_memory_next(space, addr, end, &part) && part.start <= addr)
		addr = part.end;
	if (addr >= end)
		return 0;
	return jp_fail(replay->err, EINVAL,
		       "the truth contradicts itself: pid %u unmaps %" PRIx64 "-%" PRIx64
		       " at %" PRIu64 ", and nothing mapped %" PRIx64,
		       act->pid, act->map.addr, end, act->before, addr);
}

int jp_memory_apply(struct jp_memory_replay *replay, struct jp_memory_space *space,
		    const struct jp_event *act, size_t memory)
{
	switch (act->type) {
	case JP_EVENT_MAP:
		return map(replay, space, act, memory);
	case JP_EVENT_PROTECT:
		return protect(replay, space, act);
	case JP_EVENT_REMAP:
		return remap_memory(replay, space, act);
	default:
		return check_is_mapped(replay, space, act) ?: unmap(replay, space, act);
	}
}
