/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/event.h"
#include "harness/format/truth/format.h"

/* Replays events into the address spaces of processes over time, by the kernel's rules: fork copies
 * the space (clone(CLONE_VM) shares it, which only the truth shows), exec and exit remove it,
 * threads share it, and a later record replaces earlier mappings in its range. A FORK synthesized
 * at time 0 does not erase what is known. A synthesized and a live record of one mapping count
 * once. */
struct jp_mapping {
	uint64_t start, end, pgoff;
	uint64_t since;         /* time of the mapping record; 0: unknown */
	uint64_t record_offset; /* file offset of the mapping record */
	uint32_t pid; /* pid in the record; in a forked child the mapping keeps the parent's pid */
	uint32_t maj, min;
	uint64_t ino, gen;             /* @gen 0: unknown, as in synthesized records */
	uint8_t prot;                  /* enum jp_prot */
	bool code;                     /* result of jp_mapping_holds_code() */
	uint32_t flags;                /* MAP_*, as recorded */
	enum jp_backing backing;       /* result of jp_mapping_backing() */
	const char *name;              /* name as recorded, valid as long as the replay */
	const unsigned char *build_id; /* at most 20 bytes; NULL: none */
	uint8_t build_id_size;
	void *file; /* for the unwinder: its cached object of the mapped file */
};

/* Returns whether both mappings may be of one file as far as their build ids show. Equal build ids
 * of a replay have the same address. */
static inline bool jp_mapping_build_ids_agree(const struct jp_mapping *mapping,
					      const struct jp_mapping *other)
{
	return !mapping->build_id || !other->build_id || mapping->build_id == other->build_id;
}

struct jp_replay;
struct jp_replay *jp_replay_new(void);
void jp_replay_free(struct jp_replay *replay);

/* Applies an event of a capture or a truth that changes mappings or processes; ignores others.
 * Non-executable mappings replace what they cover and are kept. Returns 0 or -ENOMEM. */
int jp_replay_apply(struct jp_replay *replay, const struct jp_event *event);
/* Removes [@addr, @addr + @len) of @pid, for streams with unmapping, such as the truth. Returns 0
 * or -ENOMEM. */
int jp_replay_unmap(struct jp_replay *replay, uint32_t pid, uint64_t addr, uint64_t len);
/* Returns the next pid in the ring of processes that share @pid's space; @pid itself if none
 * does. */
uint32_t jp_replay_sharing(const struct jp_replay *replay, uint32_t pid);
/* Returns the mapping of @pid that covers @addr, valid until the next jp_replay_apply() or
 * jp_replay_unmap(), or NULL. Takes constant time near the last found address. */
struct jp_mapping *jp_replay_find(struct jp_replay *replay, uint32_t pid, uint64_t addr);
/* Does the same as jp_replay_find(), but also finds mappings from before an exec where no newer
 * mapping exists. perf does so, because its ____thread__set_comm() drops no maps
 * (tools/perf/util/thread.c, 5.10 to 7.3). */
const struct jp_mapping *jp_replay_find_as_perf(struct jp_replay *replay, uint32_t pid,
						uint64_t addr);
/* Returns the mapping of @pid that covers @addr, else the first one above it, or NULL. */
struct jp_mapping *jp_replay_find_at_or_above(struct jp_replay *replay, uint32_t pid,
					      uint64_t addr);
/* Returns the last mapping that ends at @addr or below, or NULL. */
struct jp_mapping *jp_replay_find_below(struct jp_replay *replay, uint32_t pid, uint64_t addr);
/* Returns the name of process @pid (last COMM of its main thread), or "". */
const char *jp_replay_comm(const struct jp_replay *replay, uint32_t pid);
/* Returns a copy of @text that is valid as long as @replay, or NULL if there is no memory. */
const char *jp_replay_text(struct jp_replay *replay, const char *text);
/* Returns a number that changes whenever the address space of @pid changes, so that callers can
 * cache results. */
uint64_t jp_replay_generation(const struct jp_replay *replay, uint32_t pid);
/* The address range that a change affected. */
struct jp_extent {
	uint64_t start, end;
};
/* Returns the range of @pid's address space that changed since generation @generation: an empty
 * range if nothing changed; the whole space if more than one event changed it. */
struct jp_extent jp_replay_get_changed_range(const struct jp_replay *replay, uint32_t pid,
					     uint64_t generation);
