/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/jit/code_loads.h"
#include "harness/format/shown/shown_index.h"
#include "harness/judge/validator.h"
#include "harness/model/unwind/jit_cfi.h"

/* What a file holds at one sample, so that a reader can show it. */
struct jp_held {
	const struct jp_event *event;
	uint64_t ip;          /* the sampled user address */
	const uint64_t *user; /* user part of the callchain */
	uint32_t nr_user;
	bool chained; /* the sample has a callchain with a user part */
	bool garbage; /* a value in @user looks like a marker */
	bool dumped;  /* the sample has registers and a stack dump */
	/* The frames in @dump that a walk by call frame information finds; 0: unknown. */
	const uint64_t *dump;
	uint32_t nr_dump;
	bool ends; /* @dump ends at the root: there is no more to find */
};

/* The sources of that. */
struct jp_holder {
	const struct jp_view *view;
	const struct jp_code_loads *loads;
	const struct jp_shown_files *files;
	struct jp_jit_cfi *jit;
	struct jp_truth_stack truth;
	bool in_injected; /* @jit is of that file */
};

/* Prepares @holder, whose @view, @loads and @files are set. Returns 0 or -ENOMEM. */
int jp_holder_init(struct jp_holder *holder);
void jp_holder_free(struct jp_holder *holder);
/* Follows the processes. Returns 0 or -ENOMEM. */
int jp_holder_apply(struct jp_holder *holder, const struct jp_event *event);
/* Finds what the current file holds at the sample @event, valid until the next call. */
void jp_holder_find(struct jp_holder *holder, const struct jp_event *event, struct jp_held *held);
