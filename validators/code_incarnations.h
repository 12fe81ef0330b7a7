/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/format/jit/code_loads.h"
#include "harness/judge/validator.h"

/* A mapping record that came after code was loaded, and covers it. */
struct jp_hider {
	uint64_t time, start, end, at;
	const char *name;  /* as recorded; lives as long as the replay */
	const char *cause; /* what made the kernel write it: jp_incarnations_cover() */
};

/* One function at one address, from its load (or move) to its unload. */
struct jp_life {
	const struct jp_truth_code *code;
	uint64_t published; /* when the jitdump says that it was loaded; UINT64_MAX: it does not */
	/* Its judged time: when it was surely there, and executable, and its process was watched;
	 * begin >= end: never. */
	uint64_t begin, end;
	struct jp_hider hider; /* the first one; time 0: none */
	uint64_t low, high;    /* what later records cover of it, low == high: nothing */
};

/* Of all code of the truth, in its order. */
struct jp_incarnations {
	const struct jp_evidence *evidence;
	struct jp_life *incarnations;
	size_t count;
	size_t loads; /* judged lives that the jitdumps publish */
	struct jp_strays {
		uint64_t count;
		const struct jp_code_load *first;
	} stray, misplaced; /* loads of no life; those in another's dump, or under its name */
	uint64_t largest;   /* size */
};

/* 0 or -ENOMEM. */
int jp_incarnations_of(const struct jp_view *view, const struct jp_code_loads *loads,
		       struct jp_incarnations *incarnations);
void jp_incarnations_free(struct jp_incarnations *incarnations);
/* Forgets what was covered: before another walk. */
void jp_incarnations_uncover(struct jp_incarnations *incarnations);
/* The life at @ip of @pid at @time, or NULL. */
struct jp_life *jp_incarnations_at(const struct jp_incarnations *incarnations, uint32_t pid,
				   uint64_t ip, uint64_t time);
/* Whether @name is that of a function of other processes than @pid, which has functions. */
bool jp_incarnations_others(const struct jp_incarnations *incarnations, uint32_t pid,
			    const char *name);
/* The first of the lives of @pid that may reach into [@start, ...); the rest follow in address
 * order, up to another pid. */
size_t jp_incarnations_from(const struct jp_incarnations *incarnations, uint32_t pid,
			    uint64_t start);
/*
 * A mapping record that leads to no injected file: what was published before it, and lives, is
 * hidden. @name must live as long as the lives. Causes: "coalesced", the act that made the record
 * was about other memory, and the kernel reported all that it had merged; "remapped" and
 * "reprotected", it was about this memory; "snapshot", read from /proc; "no-act", the truth knows
 * of none.
 */
void jp_incarnations_cover(struct jp_incarnations *incarnations, const struct jp_event *map,
			   const char *name);
