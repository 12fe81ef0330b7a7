/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/registry.h"
#include "harness/format/event.h"
#include "harness/model/evidence/evidence.h"

struct jp_control;
struct jp_replay;

/* A mapping that a capture lacks on purpose, and the evidence for that. */
struct jp_left_out {
	const struct jp_control *control;
	const struct jp_evidence *evidence;
	uint32_t pid;
	uint64_t ip;
	const struct jp_procmap *map;
	const struct jp_event *act; /* the act that last gave @ip its mapping; or NULL */
};

/* Events that a capture lacks, by time. */
struct jp_extras {
	struct jp_event *events;
	size_t count, capacity;
	struct jp_replay *texts; /* owns their names */
};

/* A deliberate error of a capture, which judging must catch: every finding names the control as its
 * cause, and after the omissions are added back there is no finding. The functions read only the
 * run directory. A function that is NULL left out nothing of its kind. */
struct jp_control {
	const char *name; /* control=NAME of a case, and the cause */
	/* Returns whether the control left out the mapping at @what->ip at @time, and fills
	 * @what. */
	bool (*mapping)(struct jp_left_out *what, uint64_t time);
	/* Describes why the capture lacks the mapping in @what. */
	void (*describe)(const struct jp_left_out *what, char *text, size_t size);
	/* Returns whether @pid made an exec between @from and @to that the capture was not to
	 * record. */
	bool (*exec)(const struct jp_evidence *evidence, uint32_t pid, uint64_t from, uint64_t to);
	/* Returns whether the control left out the thread @tid and its name. */
	bool (*thread)(const struct jp_evidence *evidence, uint32_t tid);
	/* Adds all that it left out. Returns 0 or -ENOMEM. */
	int (*add_back)(const struct jp_evidence *evidence, struct jp_extras *extras);
};

/* Returns the control, first by name, that left out the mapping of @what->ip in @what->pid, or
 * NULL. */
const struct jp_control *jp_left_out_mapping(struct jp_left_out *what, uint64_t time);
/* Returns the control that left out an exec of @pid in [@from, @to], or NULL. */
const struct jp_control *jp_left_out_exec(const struct jp_evidence *evidence, uint32_t pid,
					  uint64_t from, uint64_t to);
/* Returns the control that left out thread @tid, or NULL. */
const struct jp_control *jp_left_out_thread(const struct jp_evidence *evidence, uint32_t tid);

/* Adds all that @control (NULL: none) left out. Returns 0 or -ENOMEM. */
int jp_extras_of(struct jp_extras *extras, const struct jp_evidence *evidence,
		 const struct jp_control *control);
void jp_extras_free(struct jp_extras *extras);
/* Adds one event and copies its texts; for add_back(). Returns 0 or -ENOMEM. */
int jp_extras_add(struct jp_extras *extras, const struct jp_event *event);
/* Adds the event that a record of @map would yield. Returns 0 or -ENOMEM. */
int jp_extras_add_map(struct jp_extras *extras, const struct jp_snapshot *snapshot,
		      const struct jp_procmap *map);
