/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_TRUTH_REPLAY_H
#define JP_TRUTH_REPLAY_H

#include "harness/format/truth/tables.h"

/* Private to harness/format/truth/: what the walk over the records (replay.c) leaves for the tables
 * that are made of it (give.c). */
struct jp_truth_live_code {
	struct jp_truth_code code;
	uint32_t next; /* of the same process */
};

/* An image or a life of a process that ended: an exec, an exit, a pid that is used again. */
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

struct jp_truth_process;

struct jp_truth_collector {
	struct jp_truth *truth;
	struct jp_truth_live_code *codes;
	size_t nr_codes, codes_capacity;
	struct jp_truth_process *processes;
	size_t nr_processes, processes_capacity;
	struct jp_truth_open_activation *activations;
	size_t nr_activations, activations_capacity;
	struct jp_truth_version *versions;
	size_t nr_versions, versions_capacity, steps;
	struct jp_truth_ending *ends;
	size_t nr_ends, ends_capacity;
	size_t acts_capacity;
	struct jp_truth_map process_of;    /* pid -> index + 1 */
	struct jp_truth_map code_of;       /* pid, function id -> index + 1, or NONE */
	struct jp_truth_map version_of;    /* pid, path id -> index + 1 */
	struct jp_truth_map activation_of; /* tid -> index + 1 of the open one, or NONE */
};

/* Fills codes, paths and activations. 0 or -ENOMEM. */
int jp_truth_give(struct jp_truth_collector *replay);

#endif
