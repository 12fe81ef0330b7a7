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

/* What a truth file means: code, activations and files of each process over time, as indexed
 * tables. Every array is sorted as said. */

struct jp_truth_code {
	uint32_t id, pid;
	uint32_t by_pid, by_tid; /* who loaded it, or moved it: what is inherited keeps its own */
	uint64_t addr, size;
	uint64_t loaded;   /* ns; the start of the load's bracket */
	uint64_t unloaded; /* the end of the unload's; UINT64_MAX: never */
	uint64_t ready;    /* the end of the load's bracket: from here on it is there */
	uint64_t ending;   /* the start of the unload's; UINT64_MAX: never */
	const struct jp_truth_layout *layout;
	const struct jp_truth_frames *frames; /* NULL: JP_CFI_NO_FILE, no detour */
	const char *name;
	bool in_file;  /* of a file that is mapped: whether it has a name is the file's affair */
	uint32_t next; /* private to who collects them */
};

struct jp_truth_path {
	uint32_t id, depth;
	const struct jp_truth_code **functions; /* outermost first */
};

/* One activation: a thread inside a path. The thread runs emitted code only in an activation. */
struct jp_truth_activation {
	uint32_t pid, tid;
	uint64_t enter;  /* the outer ends of the brackets */
	uint64_t leave;  /* UINT64_MAX when it never left */
	uint64_t inside; /* up to there native code runs to enter; before truth version 3 nobody
			  * says how long: @enter */
	uint64_t cpu;    /* ns of CPU time within; UINT64_MAX: not known (it never left, or the file
			  * is of before version 3) */
	const struct jp_truth_path *path;
	uint64_t sp, bp;                            /* at the first instruction of functions[0] */
	const struct jp_truth_root *root[JP_ROOTS]; /* never NULL */
	bool other_stack; /* the native frames but for the entry, or the interrupted activation, are
			   * on another stack than this one */
	/* A handler's: it runs on top of that activation, which was interrupted at
	 * interrupted->interrupted_ip. root[JP_DUMP] ends there, root[JP_CHAIN] goes on. NULL:
	 * none. */
	const struct jp_truth_activation *interrupted;
	bool was_interrupted;
	uint64_t interrupted_ip, interrupted_sp;
	bool roots_changed; /* the native frames above changed meanwhile: root[JP_CHAIN] may not
			       hold */
};

/* What a process is from one of its starts to the next: a fork, an exec, the pid's reuse. */
struct jp_truth_incarnation {
	uint32_t pid;
	uint64_t before, after; /* the bracket in which it came to be; before 0: it was launched */
	uint64_t until;         /* the end of the bracket in which it ended; UINT64_MAX: never */
	bool forked;            /* else by an exec, or launched */
	bool first;             /* a process begins with it: no exec of one that was there */
};

/* A file whose code a process had mapped, for as long as it had. */
struct jp_truth_file {
	uint32_t pid;
	uint32_t maj, min;
	uint64_t ino;
	uint64_t addr, len;
	uint64_t from;        /* ns: it was there by then */
	uint64_t until;       /* the start of the bracket in which it went; UINT64_MAX: never */
	const char *build_id; /* hexadecimal, "-": none; a blank and the path follow */
	const char *path;
	size_t told; /* in the order in which processes told of theirs; 0: a fork has it */
};

/* The files that a fork has of its parent, and that went with it, if at all. */
struct jp_truth_inherited {
	uint32_t pid;
	uint64_t from, until; /* as a file's */
	struct jp_ranges *files;
};

struct jp_truth {
	uint32_t version, e_machine;
	/* torn: slots and facts that are not believed; gaps: those of them that a committed record
	 * follows, or that another fact needs; overflow: records lost to a full file;
	 * strangers, disorder, unpaired: struct jp_truth_reader */
	uint64_t records, torn, gaps, overflow, strangers, disorder, unpaired;
	/* What changed mappings, processes and threads; marks and waits. By before. */
	struct jp_event *acts;
	size_t nr_acts;
	struct jp_acts_of acts_of;
	struct jp_truth_incarnation *incarnations; /* by pid, before */
	size_t nr_incarnations;
	/* Those that processes told of, and those of forks that went before them: ask
	 * jp_truth_next_file(). */
	struct jp_truth_file *files;
	size_t nr_files;
	struct jp_truth_inherited *inherited;
	size_t nr_inherited;
	struct jp_boxes files_at;    /* items: files, behind them what is inherited */
	struct jp_truth_code *codes; /* by pid, addr, loaded */
	size_t nr_codes;
	struct jp_truth_activation *activations; /* by tid, enter */
	size_t nr_activations;
	struct jp_truth_path *paths;
	size_t nr_paths;

	/* Private. */
	struct jp_truth_reader *reader; /* what all this points to */
	const struct jp_truth_code **path_functions;
	struct jp_acts_at acts_at;
	uint64_t *code_reach; /* for codes[i]: the largest end of codes[..i] of the same pid */
};

/* As jp_truth_reader_open(); and what contradicts what was before is a gap. */
struct jp_truth *jp_truth_load(const char *path, struct jp_error *err);
void jp_truth_free(struct jp_truth *truth);

/* Where a search for files is; all zero at first. */
struct jp_truth_files_at {
	size_t at;
	const struct jp_truth_inherited *inherited; /* NULL: none */
	uint64_t addr;
};
/* The next file of @pid, in no order, that is somewhere in @box from `from` to `until`, into
 * *@file; false: that was all. */
bool jp_truth_next_file(const struct jp_truth *truth, uint32_t pid, const struct jp_box *box,
			struct jp_truth_files_at *at, struct jp_truth_file *file);
/* Of all files, once they are there, to be searched. 0 or -ENOMEM. */
int jp_truth_index_files(struct jp_truth *truth);

/* The emitted function of @pid that lives at @ip at @time (any process whose parent loaded it
 * before the fork counts too), or NULL. */
const struct jp_truth_code *jp_truth_code_at(const struct jp_truth *truth, uint32_t pid,
					     uint64_t ip, uint64_t time);
/* Whether some function was there at any time. @name: one that was called so; NULL: any. */
bool jp_truth_code_ever(const struct jp_truth *truth, uint32_t pid, uint64_t ip, const char *name);
/* The same, of a function in a file's code. */
bool jp_truth_file_code_ever(const struct jp_truth *truth, uint32_t pid, uint64_t ip);
