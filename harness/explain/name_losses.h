/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/explain/explainer.h"
#include "harness/model/symbols/names.h"

/* Frames without a name, or with a doubtful one: how many samples have such, where, and why. */

enum jp_name_fault { /* those of enum jp_name_how that are no names, and */
		     JP_NAME_HIDDEN = JP_NAME_HOWS, /* an injected mapping was there before */
		     JP_NAME_AGAIN,                 /* the perf map has several names */
		     JP_NAME_NOT_THERE,             /* a file that inject made is missing, or bad */
		     JP_NAME_CHANGED,               /* another file lies there, by inode or time */
		     JP_NAME_REMAPPED,              /* memory took the place of a file's text */
		     JP_NAME_FAULTS,
};

enum { JP_LOSS_RANGES = 8, JP_LOSS_ADDRS = 64 };
/* One fault: in the emitted code of one process, or in one file. */
struct jp_name_loss {
	unsigned int fault; /* enum jp_name_how or jp_name_fault */
	uint32_t pid;       /* of the mapping record; of a file the first one */
	const char *name;   /* of the mapping */
	const char *file;   /* of REMAPPED: whose text it is */
	uint64_t samples;
	uint64_t first, last;          /* times of samples */
	uint64_t since;                /* of the earliest mapping record; 0: before the recording */
	uint64_t addrs[JP_LOSS_ADDRS]; /* distinct ones, the first of them */
	size_t nr_addrs, nr_ranges;
	struct jp_blame_range ranges[JP_LOSS_RANGES]; /* of mappings, the first of them */
	struct jp_build_id id;                        /* of a file, as far as records tell */
	uint64_t counted;                             /* the sample that was counted last */
	uint32_t number;                              /* of its own */
	bool leaf;                                    /* it counts as the innermost frame alone */
	struct jp_blame *blame;                       /* for it; NULL: none, or not yet */
};

/* What the recording tells of a process that publishes names. */
struct jp_name_process {
	uint32_t pid, parent; /* 0: no fork of it was seen */
	const char *marker;   /* path of the jitdump that it mapped; NULL: none */
	uint64_t marked;      /* when */
	uint64_t injected;    /* mapping records of files that inject made */
	uint64_t injected_first;
	uint64_t pid_namespace, mount_namespace; /* inodes, as it last had them; 0: not told */
	uint64_t execed;                         /* when it last called exec; 0: never */
	uint64_t named;                          /* samples with a frame that the perf map names */
	uint64_t named_first;                    /* time of the first of them */
	uint64_t counted;                        /* as above */
	uint64_t first, last;                    /* times of its samples */
};

/* Whether the recording tells that @process sees other pids or files than the first process that it
 * tells of, which the recorder is, or the system's first. */
struct jp_name_losses;
bool jp_name_process_apart(const struct jp_name_losses *losses,
			   const struct jp_name_process *process);
/* All are the caller's. NULL: no memory. */
struct jp_name_losses *jp_name_losses_new(struct jp_replay *replay, struct jp_file_finder *finder,
					  struct jp_names *names, struct jp_changed_files *changed,
					  const struct jp_ends *ends);
void jp_name_losses_free(struct jp_name_losses *losses);
/* 0 or -ENOMEM. */
int jp_name_losses_see(struct jp_name_losses *losses, const struct jp_event *event,
		       const struct jp_stack *stack);

/* All losses: @at starts as 0; NULL: that was all. */
struct jp_name_loss *jp_name_losses_next(const struct jp_name_losses *losses, size_t *at);
/* All have their blames: tells these of the samples that they have in common. 0 or -ENOMEM. */
int jp_name_losses_join(const struct jp_name_losses *losses);
/* All processes, in the order of jp_map_next(): @at starts as 0; NULL: that was all. */
const struct jp_name_process *jp_name_losses_each(const struct jp_name_losses *losses, size_t *at);
/* Made where nothing is known of it; NULL: no memory. */
const struct jp_name_process *jp_name_losses_process(struct jp_name_losses *losses, uint32_t pid);
struct jp_names *jp_name_losses_names(struct jp_name_losses *losses);
struct jp_file_finder *jp_name_losses_finder(struct jp_name_losses *losses);
