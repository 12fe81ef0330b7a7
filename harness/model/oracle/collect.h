/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/array.h"
#include "harness/base/map.h"
#include "harness/model/oracle/truth.h"
#include "harness/model/space/processes.h"
#include "harness/model/space/ranges.h"

/* Private to harness/model/oracle/: the state while the events of a truth are replayed into tables.
 * Arrays may move while they grow, so elements are referred to by index until the end. Lists and
 * maps hold index + 1, where 0 means none. */

/* Bounds on the memory and time that a hostile file with few records can cost. */
enum {
	JP_TRUTH_MOST_CODES = 1 << 23,
	JP_TRUTH_MOST_FILES = 1 << 22,
	JP_TRUTH_MOST_STEPS = 1 << 26
};

/* The end of an image or an incarnation of a process. */
struct jp_truth_ending {
	uint32_t pid;
	uint64_t before, after;
};

struct jp_truth_open_activation {
	struct jp_truth_activation activation;
	uint32_t path; /* index of the path's version */
	bool interrupted;
};

/* The codes that the functions of a path have in one process, valid until any of these codes
 * moves. */
struct jp_truth_version {
	uint32_t generation, id, depth;
	uint32_t *codes; /* indices of truth->codes */
};

struct jp_truth_process {
	struct jp_process process;
	uint32_t codes;       /* index + 1 of the first entry, whose `next` leads to the others */
	uint32_t incarnation; /* index + 1 in truth->incarnations; 0: the process ended */
	uint32_t last_ended;  /* index + 1 of the last incarnation of this pid that ended */
	uint32_t generation;  /* number that changes with the process's code: the functions of paths
				 must then be looked up again */
	uint64_t ended; /* start of the bracket in which the pid's last incarnation ended; 0: none
			   ended */
	struct jp_ranges *files;     /* all mapped files; NULL: no file was mapped */
	struct jp_ranges *own_files; /* files that this process mapped itself; NULL: none */
	size_t nr_files;
	size_t inherited_file; /* index + 1 in truth->inherited; 0: none */
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
	size_t files;             /* number of files of all processes, inherited files included */
	uint64_t failed_at;       /* offset of the record at which collecting failed */
	struct jp_map code_of;    /* (pid, function id) -> loaded code */
	struct jp_map version_of; /* (pid, path id) -> current version of the path */
	struct jp_map activation_of; /* tid -> open activation */
};

static inline uint64_t jp_truth_make_key(uint32_t pid, uint32_t id)
{
	return (uint64_t)pid << 32 | id;
}

/* Counts an event that contradicts earlier events. The caller then ignores the event. */
static inline void jp_truth_count_contradiction(struct jp_truth *truth)
{
	truth->torn++;
	truth->gaps++;
}

/* Each function below that returns int returns 0, -ENOMEM, or -E2BIG if a bound is exceeded. */

/* Applies a CODE_LOAD, CODE_MOVE or CODE_UNLOAD to each process that shares the event's memory. */
int jp_truth_follow_code(struct jp_truth_collector *collector, const struct jp_event *event);
/* Unloads all codes of @process, which exits or calls exec. */
int jp_truth_end_codes(struct jp_truth_collector *collector, struct jp_truth_process *process,
		       const struct jp_event *event);
/* Copies the loaded codes of @parent to its forked @child. */
int jp_truth_inherit_codes(struct jp_truth_collector *collector, struct jp_truth_process *child,
			   struct jp_truth_process *parent, const struct jp_event *event);
/* Returns index + 1 of the code of function @id that is loaded in @pid, or 0. */
uint32_t jp_truth_live_code(const struct jp_truth_collector *collector, uint32_t pid, uint64_t id);
/* Sorts the codes and fills the paths. Call after all events. */
int jp_truth_build_codes(struct jp_truth_collector *collector);

/* Counts a contradiction for each code that stays loaded although its memory was unmapped or other
 * code was loaded over it. Call it when all acts and codes are collected. */
int jp_truth_check_code_is_mapped(struct jp_truth_collector *collector);

int jp_truth_follow_enter(struct jp_truth_collector *collector, const struct jp_event *event);
int jp_truth_follow_leave(struct jp_truth_collector *collector, const struct jp_event *event);
/* Fills truth->activations. Call after jp_truth_build_codes(). */
int jp_truth_build_activations(struct jp_truth_collector *collector);

int jp_truth_follow_file(struct jp_truth_collector *collector, const struct jp_event *event);
void jp_truth_end_files(struct jp_truth_collector *collector, struct jp_truth_process *process,
			const struct jp_event *event);
int jp_truth_inherit_files(struct jp_truth_collector *collector, struct jp_truth_process *child,
			   const struct jp_truth_process *parent, const struct jp_event *event);
/* Frees the files of @process. */
void jp_truth_drop_files(struct jp_truth_process *process);
void jp_truth_free_files(struct jp_truth *truth);
/* Sets `in_file` of each code. Call it when all codes and files are collected. */
int jp_truth_find_files(struct jp_truth_collector *collector);
