/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/base/groups.h"
#include "harness/format/event.h"

/* The acts of each process and thread, as indices sorted by time. */
struct jp_acts_of {
	struct jp_groups processes; /* all acts, by pid */
	/* Acts that start or end a process or its program (image), by pid. */
	struct jp_groups lifecycle;
	struct jp_groups threads; /* FORK acts, by the tid of the new thread */
};

/* Indexes @acts, which are sorted by time. Returns 0 or -ENOMEM. */
int jp_acts_of_index(struct jp_acts_of *of, const struct jp_event *acts, size_t count);
void jp_acts_of_free(struct jp_acts_of *acts);

/* Finds the last act of a truth at an address. The start and end addresses of all acts are the
 * leaves of a segment tree, one process after the other: node i has the children 2i and 2i + 1. An
 * act is stored at the few nodes that together cover its range, so the nodes above a leaf have all
 * acts that cover the leaf. Building costs n log n, a query log n squared. */
struct jp_acts_at {
	const struct jp_event *acts;
	size_t nr_acts;
	struct jp_act_place {
		uint32_t pid;
		uint64_t addr;
	} * places; /* sorted by pid, addr */
	size_t nr_places;
	struct jp_act_cover {
		size_t node, act;
	} * covers; /* sorted by node, then in the order of acts */
	size_t nr_covers, covers_capacity;
	/* @pid and @sharer share an address space since the FORK @act. */
	struct jp_act_sharer {
		uint32_t pid, sharer;
		size_t act;
	} * sharers; /* sorted by pid, then in the order of acts */
	size_t nr_sharers, sharers_capacity;
};

/* Indexes @acts, which are sorted by time and must stay valid. Returns 0 or -ENOMEM. */
int jp_acts_at_index(struct jp_acts_at *index, const struct jp_event *acts, size_t count);
void jp_acts_at_free(struct jp_acts_at *index);
/* Returns the last act until @time that mapped memory at @ip of @pid or changed its protection, or
 * NULL. */
const struct jp_event *jp_acts_at_find_last(const struct jp_acts_at *index, uint32_t pid,
					    uint64_t ip, uint64_t time);
/* Returns a process that shares @pid's address space and whose act mapped @ip, or 0. */
uint32_t jp_acts_at_find_sharer(const struct jp_acts_at *index, uint32_t pid, uint64_t ip,
				uint64_t time);
