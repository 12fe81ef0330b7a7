/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/format/event.h"

/*
 * Which act of a truth came last at an address. The places where acts begin and end to put or
 * change something are the leaves of a tree, those of all processes one after the other: node i has
 * the children 2i and 2i + 1. An act stands at the few nodes that make up its memory, so that those
 * above a place have all acts that cover it: n log n to build, and the square of log n to ask.
 */
struct jp_acts_at {
	const struct jp_event *acts;
	size_t nr_acts;
	struct jp_act_place {
		uint32_t pid;
		uint64_t addr;
	} * places; /* by pid, addr */
	size_t nr_places;
	struct jp_act_stand {
		size_t node, act;
	} * stands; /* by node, then in the order of acts */
	size_t nr_stands, stands_capacity;
	/* @other shares the address space of @pid by a FORK. */
	struct jp_act_sharer {
		uint32_t pid, other;
		size_t act;
	} * sharers; /* by pid, then in the order of acts */
	size_t nr_sharers, sharers_capacity;
};

/* Of @acts, which are by time and stay. 0 or -ENOMEM. */
int jp_acts_at_index(struct jp_acts_at *at, const struct jp_event *acts, size_t count);
void jp_acts_at_free(struct jp_acts_at *at);
/* The last act by @time that put something at @ip of @pid, or changed what is allowed there; NULL:
 * none did. */
const struct jp_event *jp_acts_at_last(const struct jp_acts_at *at, uint32_t pid, uint64_t ip,
				       uint64_t time);
/* Another process in @pid's address space whose act gave @ip its mapping; 0: there is none. */
uint32_t jp_acts_at_sharer(const struct jp_acts_at *at, uint32_t pid, uint64_t ip, uint64_t time);
