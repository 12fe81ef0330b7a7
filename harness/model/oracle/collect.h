/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/array.h"
#include "harness/base/map.h"
#include "harness/model/oracle/truth.h"
#include "harness/model/space/processes.h"
#include "harness/model/space/ranges.h"

/* Private to harness/model/oracle/: the walk over the events of a truth, with what every process
 * has at that moment beside it. Elements are known by index while the arrays grow; pointers are put
 * in at the end. Lists and maps hold index + 1, 0 being none. */

/* Bounds for what a hostile file may make us build from few records. */
enum {
	JP_TRUTH_MOST_CODES = 1 << 23,
	JP_TRUTH_MOST_FILES = 1 << 22,
	JP_TRUTH_MOST_STEPS = 1 << 26
};

/* An image or an incarnation of a process that ended. */
struct jp_truth_ending {
	uint32_t pid;
	uint64_t before, after;
};

struct jp_truth_open_activation {
	struct jp_truth_activation activation;
	uint32_t path; /* index of the version */
	bool interrupted;
};

/* A path as resolved in one process, while no code moves. */
struct jp_truth_version {
	uint32_t generation, id, depth;
	uint32_t *codes; /* indices */
};

struct jp_truth_process {
	struct jp_process process;
	uint32_t codes;          /* head of its list */
	uint32_t incarnation;    /* index + 1 in truth->incarnations; 0: it ended */
	uint32_t over;           /* the same, of the last that ended */
	uint32_t generation;     /* of its code: a path resolved before may be another now */
	uint64_t ended;          /* when its last incarnation began to end; 0: none did */
	struct jp_ranges *files; /* that are mapped; NULL: none was */
	struct jp_ranges *own;   /* those of them that it told of; NULL: none */
	size_t nr_files;
	size_t inherited; /* index + 1 in truth->inherited; 0: none */
};

struct jp_truth_collector {
	struct jp_truth *truth;
	struct jp_processes processes;
	struct jp_truth_open_activation *activations;
	size_t nr_activations, activations_capacity;
	struct jp_truth_version *versions;
	size_t nr_versions, versions_capacity;
	struct jp_truth_ending *ends;
	size_t nr_ends, ends_capacity;
	size_t codes_capacity, files_capacity, acts_capacity, incarnations_capacity, steps;
	size_t inherited_capacity;
	size_t files;                /* of all processes, with those that forks have */
	uint64_t failed_at;          /* offset of the record that could not be followed */
	struct jp_map code_of;       /* pid, function id -> code that is alive */
	struct jp_map version_of;    /* pid, path id */
	struct jp_map activation_of; /* tid -> the open one */
};

static inline uint64_t jp_truth_pair(uint32_t pid, uint32_t id)
{
	return (uint64_t)pid << 32 | id;
}

/* Counts an event that contradicts what was before: it is not believed. */
static inline void jp_truth_contradicts(struct jp_truth *truth)
{
	truth->torn++;
	truth->gaps++;
}

/* Each returns 0, -ENOMEM, or -E2BIG: more than the bounds. */
int jp_truth_follow_code(struct jp_truth_collector *collector, const struct jp_event *event);
int jp_truth_end_codes(struct jp_truth_collector *collector, struct jp_truth_process *process,
		       const struct jp_event *event);
int jp_truth_inherit_codes(struct jp_truth_collector *collector, struct jp_truth_process *child,
			   struct jp_truth_process *parent, const struct jp_event *event);
/* The code of function @id that is alive in @pid, index + 1; 0: none. */
uint32_t jp_truth_live_code(const struct jp_truth_collector *collector, uint32_t pid, uint64_t id);
/* Sorts the codes and fills the paths; after all events. */
int jp_truth_build_codes(struct jp_truth_collector *collector);

/* Who unmaps code, or writes other code over it, unloads it: what lives on is a gap. After acts and
 * codes. */
int jp_truth_check_places(struct jp_truth_collector *collector);

int jp_truth_follow_enter(struct jp_truth_collector *collector, const struct jp_event *event);
int jp_truth_follow_leave(struct jp_truth_collector *collector, const struct jp_event *event);
/* Fills activations; after codes and paths. */
int jp_truth_build_activations(struct jp_truth_collector *collector);

int jp_truth_follow_file(struct jp_truth_collector *collector, const struct jp_event *event);
void jp_truth_end_files(struct jp_truth_collector *collector, struct jp_truth_process *process,
			const struct jp_event *event);
int jp_truth_inherit_files(struct jp_truth_collector *collector, struct jp_truth_process *child,
			   const struct jp_truth_process *parent, const struct jp_event *event);
/* @process has none any more. */
void jp_truth_drop_files(struct jp_truth_process *process);
void jp_truth_free_files(struct jp_truth *truth);
/* Tells the codes that lie in files; after both. */
int jp_truth_find_files(struct jp_truth_collector *collector);
