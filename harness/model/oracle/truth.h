/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/boxes.h"
#include "harness/format/truth/reader.h"
#include "harness/model/oracle/acts_at.h"
#include "harness/model/space/ranges.h"

/* Contents of a truth file as sorted tables: the emitted code, activations and mapped files of each
 * process over time. A path is a chain of emitted functions that call each other; an activation is
 * the time in which a thread is inside a path. A bracket is a pair of times between which something
 * happened. */

struct jp_truth_code {
	uint32_t id, pid;
	uint32_t by_pid, by_tid; /* thread that loaded or moved the code; for inherited code the
				    thread of the ancestor */
	uint64_t addr, size;
	uint64_t loaded;   /* start of the bracket in which the code was loaded, in ns */
	uint64_t unloaded; /* end of the bracket in which it was unloaded; UINT64_MAX: never */
	uint64_t ready;  /* end of the bracket of loading: the code certainly exists from then on */
	uint64_t ending; /* start of the bracket of unloading; UINT64_MAX: never */
	const struct jp_truth_layout *layout;
	/* NULL: the code has no file and no detour (struct jp_truth_frames). */
	const struct jp_truth_frames *frames;
	const char *name;
	bool in_file;  /* the code is in a mapped file, whose symbols determine its name */
	uint32_t next; /* private to the collector */
};

struct jp_truth_path {
	uint32_t id, depth;
	const struct jp_truth_code **functions; /* the functions of the path, outermost first */
};

/* The time in which a thread is inside a path. A thread runs emitted code only in an activation. */
struct jp_truth_activation {
	uint32_t pid, tid;
	uint64_t enter;  /* start of the bracket in which the thread entered the path, in ns */
	uint64_t leave;  /* end of the bracket in which it left the path; UINT64_MAX: never */
	uint64_t called; /* time of the call from native code to functions[0]; truths before version
			    3 lack it: @enter */
	uint64_t cpu; /* CPU time in the activation in ns; UINT64_MAX: unknown (never left, or truth
			 before version 3) */
	const struct jp_truth_path *path;
	uint64_t sp, bp; /* stack and frame pointer at the first instruction of functions[0] */
	const struct jp_truth_root *root[JP_ROOTS]; /* native frames below functions[0] as each
						       method finds them; never NULL */
	bool other_stack; /* the native frames without the native entry, or the interrupted
			     activation, are on another stack */
	/* For the path of a signal handler: the activation that the handler interrupted, at its
	 * @interrupted_ip; else NULL. root[JP_DUMP] ends there, and root[JP_CHAIN] continues. */
	const struct jp_truth_activation *interrupted;
	bool was_interrupted;
	uint64_t interrupted_ip, interrupted_sp;
	bool roots_changed; /* the native callers changed during the activation: root[JP_CHAIN] may
			       be outdated */
};

/* The time in which a pid runs one program: from one start (fork, exec, or reuse of the pid) to the
 * next. */
struct jp_truth_incarnation {
	uint32_t pid;
	uint64_t before, after; /* it started between these times; @before 0: it was launched */
	uint64_t until;         /* it ended before this time; UINT64_MAX: it never ended */
	bool is_forked; /* the incarnation started by a fork; otherwise by an exec or a launch */
	bool borrower;  /* it started in its parent's address space: clone(CLONE_VM) */
	bool is_first;  /* the incarnation is the first of its process; false after an exec */
	bool killed;    /* a signal killed it, so its own records lack its end */
};

/* A mapping of a file that contains code. */
struct jp_truth_file {
	uint32_t pid;
	uint32_t maj, min;
	uint64_t ino;
	uint64_t addr, len;
	uint64_t from;        /* end of the bracket in which it was mapped, in ns */
	uint64_t until;       /* start of the bracket in which it was unmapped; UINT64_MAX: never */
	const char *build_id; /* hexadecimal ("-": none), then a blank and the path */
	const char *path;
	size_t order; /* number of the FILE event in the order of events; 0: inherited by a fork */
};

/* The files that a forked process inherited, until it has unmapped all of them. */
struct jp_truth_inherited {
	uint32_t pid;
	uint64_t from, until; /* as in struct jp_truth_file */
	struct jp_ranges *files;
};

struct jp_truth {
	uint32_t version, e_machine;
	/* @records: number of valid records. @torn: number of slots and facts that are incomplete
	 * and ignored. @gaps: the part of @torn that a committed record follows, or that another
	 * fact needs. @overflow: records lost because the file was full. @strangers, @disorder,
	 * @overspent, @unpaired: see struct jp_truth_reader. */
	uint64_t records, torn, gaps, overflow, strangers, disorder, overspent, unpaired;
	/* Changes of mappings, processes and threads, with marks and waits. Sorted by @before. */
	struct jp_event *acts;
	size_t nr_acts;
	struct jp_acts_of acts_of;
	struct jp_truth_incarnation *incarnations; /* sorted by pid, then @before */
	size_t nr_incarnations;
	/* Files that processes mapped themselves, and inherited files that ended before their
	 * process. Use jp_truth_next_file() to search both these and @inherited. */
	struct jp_truth_file *files;
	size_t nr_files;
	struct jp_truth_inherited *inherited;
	size_t nr_inherited;
	/* Values: indices of @files; from @nr_files on, indices of @inherited. */
	struct jp_boxes files_at;
	struct jp_truth_code *codes; /* sorted by pid, addr, loaded */
	size_t nr_codes;
	struct jp_truth_activation *activations; /* sorted by tid, enter */
	size_t nr_activations;
	struct jp_truth_path *paths;
	size_t nr_paths;

	/* Private. */
	struct jp_truth_reader *reader; /* owns all texts */
	const struct jp_truth_code **path_functions;
	struct jp_acts_at acts_at;
	/* Reach[i] is the largest end address of codes[0..i] of the same pid. */
	uint64_t *code_reach;
};

/* Loads the truth file @path like jp_truth_reader_open(). Events that contradict earlier events are
 * counted as gaps. */
struct jp_truth *jp_truth_load(const char *path, struct jp_error *err);
void jp_truth_free(struct jp_truth *truth);
/* Returns the image that @pid had at @time, in ns, or NULL. */
const struct jp_truth_incarnation *jp_truth_image_at(const struct jp_truth *truth, uint32_t pid,
						     uint64_t time);

/* State of a search for files; starts as zeros. */
struct jp_truth_files_at {
	size_t cursor;
	const struct jp_truth_inherited *inherited; /* NULL: none */
	uint64_t addr;
};
/* Stores the next file of @pid, in no particular order, whose addresses and times overlap @box.
 * Returns false after the last. */
bool jp_truth_next_file(const struct jp_truth *truth, uint32_t pid, const struct jp_box *box,
			struct jp_truth_files_at *cursor, struct jp_truth_file *file);
/* Indexes all files for jp_truth_next_file(). Returns 0 or -ENOMEM. */
int jp_truth_index_files(struct jp_truth *truth);

/* Returns the emitted function at @ip of @pid at @time, or NULL. Finds code that a parent loaded
 * before the fork, too. */
const struct jp_truth_code *jp_truth_code_at(const struct jp_truth *truth, uint32_t pid,
					     uint64_t ip, uint64_t time);
/* Returns whether an emitted function was at @ip of @pid at any time; @name: its name, or NULL for
 * any function. */
bool jp_truth_was_code_at(const struct jp_truth *truth, uint32_t pid, uint64_t ip,
			  const char *name);
/* Does the same as jp_truth_was_code_at(), but only for functions in mapped files and with any
 * name. */
bool jp_truth_was_file_code_at(const struct jp_truth *truth, uint32_t pid, uint64_t ip);
