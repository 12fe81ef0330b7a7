/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/boxes.h"
#include "harness/format/truth/reader.h"
#include "harness/model/oracle/acts_at.h"
#include "harness/model/oracle/acts_of.h"
#include "harness/model/space/ranges.h"

/* Contents of a truth file as sorted tables: code, activations and files of each process over
 * time. */

struct jp_truth_code {
	uint32_t id, pid;
	uint32_t by_pid, by_tid; /* thread that loaded or moved it; inherited code keeps its own */
	uint64_t addr, size;
	uint64_t loaded;   /* ns; start of the load's bracket */
	uint64_t unloaded; /* end of the unload's bracket; UINT64_MAX: never */
	uint64_t ready;    /* end of the load's bracket: the code certainly exists from then on */
	uint64_t ending;   /* start of the unload's bracket; UINT64_MAX: never */
	const struct jp_truth_layout *layout;
	const struct jp_truth_frames *frames; /* NULL: JP_CFI_NO_FILE and no detour */
	const char *name;
	bool in_file;  /* the code is in a mapped file, whose symbols determine its name */
	uint32_t next; /* private to the collector */
};

struct jp_truth_path {
	uint32_t id, depth;
	const struct jp_truth_code **functions; /* outermost first */
};

/* A thread inside a path. A thread runs emitted code only in an activation. */
struct jp_truth_activation {
	uint32_t pid, tid;
	uint64_t enter;  /* start of the bracket */
	uint64_t leave;  /* end of the bracket of leaving; UINT64_MAX: never left */
	uint64_t inside; /* end of the native code that enters; unknown before truth version 3:
			    @enter */
	uint64_t cpu; /* CPU time in the activation in ns; UINT64_MAX: unknown (never left, or truth
			 before version 3) */
	const struct jp_truth_path *path;
	uint64_t sp, bp; /* values at the first instruction of functions[0] */
	const struct jp_truth_root *root[JP_ROOTS]; /* never NULL */
	bool other_stack; /* the native frames except for the entry, or the interrupted activation,
			     are on another stack */
	/* For a signal handler: the activation that it interrupted at interrupted->interrupted_ip.
	 * root[JP_DUMP] ends there, and root[JP_CHAIN] continues. Else NULL. */
	const struct jp_truth_activation *interrupted;
	bool was_interrupted;
	uint64_t interrupted_ip, interrupted_sp;
	bool roots_changed; /* the native frames above changed during the activation: root[JP_CHAIN]
			       may be outdated */
};

/* A process from one start to the next start: a fork, an exec, or the pid's reuse. */
struct jp_truth_incarnation {
	uint32_t pid;
	uint64_t before, after; /* bracket of its start; @before 0: launched */
	uint64_t until;         /* end of the bracket of its end; UINT64_MAX: never */
	bool forked;            /* started by a fork; else by an exec or a launch */
	bool first;             /* the first of its process, not an exec in an earlier one */
};

/* A mapped file with code. */
struct jp_truth_file {
	uint32_t pid;
	uint32_t maj, min;
	uint64_t ino;
	uint64_t addr, len;
	uint64_t from;        /* ns; mapped by then */
	uint64_t until;       /* start of the bracket of its unmapping; UINT64_MAX: never */
	const char *build_id; /* hexadecimal ("-": none), then a blank and the path */
	const char *path;
	size_t order; /* number in the order of events; 0: inherited by a fork */
};

/* Files that a fork inherited, until the process unmapped them all. */
struct jp_truth_inherited {
	uint32_t pid;
	uint64_t from, until; /* as in struct jp_truth_file */
	struct jp_ranges *files;
};

struct jp_truth {
	uint32_t version, e_machine;
	/* torn: ignored slots and facts; gaps: torn ones before a committed record, or that another
	 * fact needs; overflow: records lost to a full file; strangers, disorder, unpaired: see
	 * struct jp_truth_reader */
	uint64_t records, torn, gaps, overflow, strangers, disorder, unpaired;
	/* Changes of mappings, processes and threads; marks and waits. Sorted by before. */
	struct jp_event *acts;
	size_t nr_acts;
	struct jp_acts_of acts_of;
	struct jp_truth_incarnation *incarnations; /* by pid, then before */
	size_t nr_incarnations;
	/* Files that processes mapped, and inherited files that ended before their process. Use
	 * jp_truth_next_file(). */
	struct jp_truth_file *files;
	size_t nr_files;
	struct jp_truth_inherited *inherited;
	size_t nr_inherited;
	struct jp_boxes files_at;    /* numbers: first those of files, then those of inherited */
	struct jp_truth_code *codes; /* by pid, addr, loaded */
	size_t nr_codes;
	struct jp_truth_activation *activations; /* by tid, enter */
	size_t nr_activations;
	struct jp_truth_path *paths;
	size_t nr_paths;

	/* Private. */
	struct jp_truth_reader *reader; /* owner of all texts */
	const struct jp_truth_code **path_functions;
	struct jp_acts_at acts_at;
	uint64_t *code_reach; /* for codes[i]: the largest end in codes[..i] of the same pid */
};

/* Loads a truth like jp_truth_reader_open(). Counts an event that contradicts earlier events as a
 * gap. */
struct jp_truth *jp_truth_load(const char *path, struct jp_error *err);
void jp_truth_free(struct jp_truth *truth);

/* State of a search for files; starts as zeros. */
struct jp_truth_files_at {
	size_t at;
	const struct jp_truth_inherited *inherited; /* NULL: none */
	uint64_t addr;
};
/* Stores the next file of @pid, in no order, that overlaps @box in address and time. Returns false
 * after the last. */
bool jp_truth_next_file(const struct jp_truth *truth, uint32_t pid, const struct jp_box *box,
			struct jp_truth_files_at *at, struct jp_truth_file *file);
/* Indexes all files for jp_truth_next_file(). Returns 0 or -ENOMEM. */
int jp_truth_index_files(struct jp_truth *truth);

/* Returns the emitted function at @ip of @pid at @time, or NULL. Code that a parent loaded before
 * the fork counts, too. */
const struct jp_truth_code *jp_truth_code_at(const struct jp_truth *truth, uint32_t pid,
					     uint64_t ip, uint64_t time);
/* Returns whether a function, called @name unless that is NULL, was at that address at any time. */
bool jp_truth_code_ever(const struct jp_truth *truth, uint32_t pid, uint64_t ip, const char *name);
/* Does the same for functions in files. */
bool jp_truth_file_code_ever(const struct jp_truth *truth, uint32_t pid, uint64_t ip);
