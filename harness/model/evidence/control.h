/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/registry.h"
#include "harness/format/event.h"
#include "harness/model/evidence/evidence.h"

struct jp_control;
struct jp_replay;

/* A mapping that a control made the capture omit on purpose, and the evidence for that. */
struct jp_left_out {
	const struct jp_control *control;
	const struct jp_evidence *evidence;
	uint32_t pid;
	uint64_t ip;
	const struct jp_procmap *map;
	/* The last act of the truth that mapped memory at @ip; or NULL. */
	const struct jp_event *act;
};

/* Events that a control left out, sorted by time. */
struct jp_extras {
	struct jp_event *events;
	size_t count, capacity;
	struct jp_replay *texts; /* owns the names in @events */
};

/* A control is a deliberate error of a capture: the capture leaves out certain records, and judging
 * must catch that. Every finding then names the control as its cause, and after the left-out events
 * are added back there is no finding. The functions read only the run directory. NULL in place of a
 * function: the control leaves out nothing of that kind. */
struct jp_control {
	const char *name; /* name of the control, as in control=NAME of a case; also the cause in
			     findings */
	/* Returns whether the control left out the mapping at @what->ip that existed at @time, and
	 * fills @what. */
	bool (*mapping)(struct jp_left_out *what, uint64_t time);
	/* Describes why the capture lacks the mapping in @what. */
	void (*describe)(const struct jp_left_out *what, char *text, size_t size);
	/* Returns whether @pid called exec between @from and @to and the control left out that
	 * exec. */
	bool (*exec)(const struct jp_evidence *evidence, uint32_t pid, uint64_t from, uint64_t to);
	/* Returns whether the control left out the thread @tid and its name. */
	bool (*thread)(const struct jp_evidence *evidence, uint32_t tid);
	/* Adds to @extras all events that the control left out. Returns 0 or -ENOMEM. */
	int (*add_back)(const struct jp_evidence *evidence, struct jp_extras *extras);
};

/* Returns the first control by name that left out the mapping of @left_out->ip in @left_out->pid,
 * or NULL. */
const struct jp_control *jp_control_find_missing_mapping(struct jp_left_out *left_out,
							 uint64_t time);
/* Returns the control that left out an exec of @pid in [@from, @to], or NULL. */
const struct jp_control *jp_control_find_missing_exec(const struct jp_evidence *evidence,
						      uint32_t pid, uint64_t from, uint64_t to);
/* Returns the control that left out thread @tid, or NULL. */
const struct jp_control *jp_control_find_missing_thread(const struct jp_evidence *evidence,
							uint32_t tid);

/* Stores in @added_records all events that @control (NULL: none) left out. Returns 0 or -ENOMEM. */
int jp_extras_collect(struct jp_extras *added_records, const struct jp_evidence *evidence,
		      const struct jp_control *control);
void jp_extras_free(struct jp_extras *added_records);
/* Adds one event and copies its texts; for add_back(). Returns 0 or -ENOMEM. */
int jp_extras_add_event(struct jp_extras *added_records, const struct jp_event *event);
/* Adds the mapping event that a capture would have recorded for @map of @snapshot. Returns 0 or
 * -ENOMEM. */
int jp_extras_add_map(struct jp_extras *added_records, const struct jp_snapshot *snapshot,
		      const struct jp_procmap *map);
