/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/registry.h"
#include "harness/format/event.h"
#include "harness/model/evidence/evidence.h"

struct jp_control;
struct jp_replay;

/* A mapping that a capture lacks on purpose, and what says so (of these, what there is). */
struct jp_left_out {
	const struct jp_control *control;
	const struct jp_evidence *evidence;
	uint32_t pid;
	uint64_t ip;
	const struct jp_procmap *map;
	const struct jp_event *act; /* of the truth that gave @ip its mapping last; or NULL */
};

/* Events that a capture lacks, by time. */
struct jp_extras {
	struct jp_event *events;
	size_t count, capacity;
	struct jp_replay *texts; /* keeps their names */
};

/*
 * One way of being wrong on purpose. A capture that is must be caught: everything that is found of
 * it has the control's name as its cause, and nothing is found once what it left out is added back.
 * Each function asks only what a run directory holds; one that is NULL left out no such thing.
 */
struct jp_control {
	const char *name; /* control=NAME of a case, and the cause */
	const char *help;
	/* Whether it left out the mapping at @what->ip at @time; then fills @what on. */
	bool (*mapping)(struct jp_left_out *what, uint64_t time);
	/* Says of what @mapping filled why the capture lacks it. */
	void (*describe)(const struct jp_left_out *what, char *text, size_t size);
	/* Whether @pid exec'd between @from and @to and no record was to tell. */
	bool (*exec)(const struct jp_evidence *evidence, uint32_t pid, uint64_t from, uint64_t to);
	/* Whether no record was to tell of the thread @tid, nor to name it. */
	bool (*thread)(const struct jp_evidence *evidence, uint32_t tid);
	/* Gives all that it left out. 0 or -ENOMEM. */
	int (*add_back)(const struct jp_evidence *evidence, struct jp_extras *extras);
};

/* The control, first by name, that left out what covers @what->ip of @what->pid; NULL: none did. */
const struct jp_control *jp_left_out_mapping(struct jp_left_out *what, uint64_t time);
/* The control to which the same applies, of an exec and of a thread. */
const struct jp_control *jp_left_out_exec(const struct jp_evidence *evidence, uint32_t pid,
					  uint64_t from, uint64_t to);
const struct jp_control *jp_left_out_thread(const struct jp_evidence *evidence, uint32_t tid);

/* All that @control (NULL: none) left out. 0 or -ENOMEM. */
int jp_extras_of(struct jp_extras *extras, const struct jp_evidence *evidence,
		 const struct jp_control *control);
void jp_extras_free(struct jp_extras *extras);
/* For add_back(): one event, whose texts are kept; or what a record of @map would have said. */
int jp_extras_add(struct jp_extras *extras, const struct jp_event *event);
int jp_extras_add_map(struct jp_extras *extras, const struct jp_snapshot *snapshot,
		      const struct jp_procmap *map);
