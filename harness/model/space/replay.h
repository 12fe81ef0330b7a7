/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/event.h"
#include "harness/format/truth/format.h"

/*
 * Events replayed into the address spaces of processes over time. The kernel's rules: fork
 * inherits (copy; the same space with clone(CLONE_VM), which only the truth tells from a fork),
 * exec and exit purge, threads share, the latest record of a range wins and cuts what lay there
 * before, a FORK synthesized at time 0 does not erase what is known, a synthesized and a live
 * record of one mapping are one.
 */
struct jp_mapping {
	uint64_t start, end, pgoff;
	uint64_t since; /* time of the record; 0: unknown */
	uint64_t at;    /* file offset of the record */
	uint32_t pid;   /* of the record: a forked child keeps its parent's */
	uint32_t maj, min;
	uint64_t ino, gen;             /* gen 0: not told, as by what is synthesized */
	uint8_t prot;                  /* enum jp_prot */
	uint32_t flags;                /* MAP_*, as recorded */
	enum jp_backing backing;       /* from the name, jp_mapping_backing() */
	const char *name;              /* as recorded; lives as long as the replay */
	const unsigned char *build_id; /* 20 bytes max, NULL: none */
	uint8_t build_id_size;
	void *file; /* for the unwinder's use: its cached object of this mapping */
};

struct jp_replay;
struct jp_replay *jp_replay_new(void);
void jp_replay_free(struct jp_replay *replay);

/* Applies an event that changes mappings or processes, seen or of the truth; others are ignored.
 * Non-executable mappings cut what they cover and are kept with their prot. -ENOMEM at worst. */
int jp_replay_apply(struct jp_replay *replay, const struct jp_event *event);
/* Removes [@addr, @addr + @len) of @pid: for streams that know unmapping, such as the truth. */
int jp_replay_cut(struct jp_replay *replay, uint32_t pid, uint64_t addr, uint64_t len);
/* The next one, round, of the pids that share @pid's space; @pid itself where none does. */
uint32_t jp_replay_sharing(const struct jp_replay *replay, uint32_t pid);
/* The mapping of @pid that covers @addr, or NULL. Constant time for an address near the last ones
 * asked for. The pointer lives until the next jp_replay_apply() or jp_replay_cut(). */
struct jp_mapping *jp_replay_find(struct jp_replay *replay, uint32_t pid, uint64_t addr);
/* The same, or where nothing covers @addr the first one above it. */
struct jp_mapping *jp_replay_from(struct jp_replay *replay, uint32_t pid, uint64_t addr);
/* The last mapping that ends at @addr or below, or NULL. */
struct jp_mapping *jp_replay_before(struct jp_replay *replay, uint32_t pid, uint64_t addr);
/* The process's name (last COMM of its main thread), "" where unknown. */
const char *jp_replay_comm(const struct jp_replay *replay, uint32_t pid);
/* @text, kept for the life of @replay; NULL: no memory. */
const char *jp_replay_text(struct jp_replay *replay, const char *text);
/* Changes whenever the space of @pid does; for caches outside. */
uint64_t jp_replay_generation(const struct jp_replay *replay, uint32_t pid);
/* Where it changed since its generation was @since: all of it, unless that was the last one before
 * the last event that changed it. Empty: it did not. */
struct jp_extent {
	uint64_t start, end;
};
struct jp_extent jp_replay_changed(const struct jp_replay *replay, uint32_t pid, uint64_t since);
