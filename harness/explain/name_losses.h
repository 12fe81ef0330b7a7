/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/explain/explainer.h"
#include "harness/model/symbols/names.h"

/* Frames without a name, or with a doubtful one: how many samples have them, where, and why. */

enum jp_name_fault { /* continues enum jp_name_source, whose values without a name are faults too */
		     JP_NAME_HIDDEN = JP_NAME_SOURCES, /* a mapping hides an older one by inject */
		     JP_NAME_AGAIN,                    /* the perf map has several names */
		     JP_NAME_NOT_THERE, /* a file that inject made is missing, or bad */
		     JP_NAME_CHANGED,   /* another file is there, by inode or time */
		     JP_NAME_REMAPPED,  /* memory replaced a file's text */
		     JP_NAME_FAULTS,
};

enum { JP_LOSS_RANGES = 8, JP_LOSS_ADDRS = 64 };
/* One loss of names: samples with one fault, in the emitted code of one process or in one file. */
struct jp_name_loss {
	unsigned int fault; /* enum jp_name_source or jp_name_fault */
	uint32_t pid; /* process that mapped the code, or a forked child with a jitdump of its own;
			 for a file: the process that mapped it first */
	const char *name; /* name of the mapping */
	const char *file; /* for JP_NAME_REMAPPED: the file that the text was copied from */
	uint64_t samples;
	uint64_t first, last;          /* times of the first and last sample */
	uint64_t since;                /* time of the first mapping record; 0: recording's start */
	uint64_t addrs[JP_LOSS_ADDRS]; /* distinct addresses, the first ones */
	size_t nr_addrs, nr_ranges;
	struct jp_blame_range ranges[JP_LOSS_RANGES]; /* ranges of mappings, the first ones */
	struct jp_build_id id;                        /* build id of a file, if recorded */
	uint64_t counted;                             /* number of the last counted sample */
	uint32_t number;                              /* index of this loss */
	bool leaf;                                    /* only the innermost frame counts */
	struct jp_blame *blame;                       /* NULL: none, or not yet */
};

/* Recorded facts about a process that publishes names. */
struct jp_name_process {
	uint32_t pid, parent; /* @parent 0: no fork was recorded */
	uint64_t forked;      /* time of the fork; 0: before the recording */
	const char *marker;   /* path of a mapped jitdump; NULL: none */
	uint32_t marker_pid;  /* the process that mapped it: this one, or an ancestor */
	uint64_t marked;      /* time of that mapping */
	uint64_t injected;    /* number of mapping records of files that inject made */
	uint64_t injected_first, injected_last;  /* times of the first and last of these */
	uint64_t pid_namespace, mount_namespace; /* last recorded inodes; 0: unknown */
	uint64_t execed;                         /* time of its last exec; 0: none */
	uint64_t named;                          /* samples with a frame that the perf map names */
	uint64_t named_first;                    /* time of the first sample of @named */
	uint64_t counted;                        /* number of the last sample of @named */
	uint64_t first, last;                    /* times of its first and last sample */
};

/* Returns whether @process is in another pid or mount namespace than the first recorded process,
 * which is the recorder or the system's first process. */
struct jp_name_losses;
bool jp_name_process_is_in_other_namespace(const struct jp_name_losses *losses,
					   const struct jp_name_process *process);
/* Returns new state, or NULL if out of memory. The caller owns the arguments. */
struct jp_name_losses *jp_name_losses_new(struct jp_replay *replay, struct jp_file_finder *finder,
					  struct jp_names *names, struct jp_changed_files *changed,
					  const struct jp_ends *ends);
void jp_name_losses_free(struct jp_name_losses *losses);
/* Handles an event. Returns 0 or -ENOMEM. */
int jp_name_losses_handle(struct jp_name_losses *losses, const struct jp_event *event,
			  const struct jp_stack *stack);

/* Returns the mapping at @addr of a file that inject wrote, or NULL. A later mapping may cover the
 * returned mapping. */
const struct jp_mapping *jp_name_losses_injected(const struct jp_name_losses *losses, uint32_t pid,
						 uint64_t addr);
/* Returns the next loss, or NULL at the end. Start with *@at 0. */
struct jp_name_loss *jp_name_losses_next(const struct jp_name_losses *losses, size_t *at);
/* Stores in the blames how many samples they share. Call it when all losses have blames. Returns 0
 * or -ENOMEM. */
int jp_name_losses_join(const struct jp_name_losses *losses);
/* Returns the next process, in the order of jp_map_next(), or NULL. Start with *@at 0. */
const struct jp_name_process *jp_name_losses_next_process(const struct jp_name_losses *losses,
							  size_t *at);
/* Returns the process @pid, and creates it if no record has mentioned it; NULL: out of memory. */
const struct jp_name_process *jp_name_losses_process(struct jp_name_losses *losses, uint32_t pid);
