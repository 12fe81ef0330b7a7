/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/explain/changed_files.h"
#include "harness/explain/ending.h"
#include "harness/explain/images.h"
#include "harness/model/space/places.h"
#include "harness/model/unwind/call_sites.h"
#include "harness/model/unwind/frame_use.h"

/* Where and how stacks of a file end, counted by address: a few numbers for each place, however
 * many samples there are. Explainers judge them at the end. */

struct jp_end {
	struct jp_image *image;
	enum jp_end_kind kind;
	enum jp_code_kind code;
	enum jp_frame_use use; /* for files */
	const char *file;      /* name of the mapping; NULL: none */
	bool remapped;         /* memory replaced the file's text */
	uint64_t addr;
	uint64_t start, end; /* of the mapping or the page */
	uint64_t vaddr;      /* @addr in the file's own address space */
	bool keeps;          /* the file was built with frame pointers */
	uint64_t samples;
	uint64_t from_jit;    /* of these, taken in emitted code */
	uint64_t cut, hollow; /* of those without call frame information: by frame pointers they end
				 with the dump, which is full (cut) or not (hollow) */
	uint64_t blank;       /* of these, taken in the kernel with empty dumps */
	uint64_t nr_frames;   /* sum of all samples */
	uint64_t garbage;     /* of these, followed by garbage addresses */
	uint64_t again;       /* of these, with the same garbage as the first */
	uint64_t astray;      /* of these, with more garbage than the start of a program leaves */
	uint64_t skips;       /* of all: emitted code that shows its caller's caller */
	uint64_t skipped;     /* that address in the first */
	uint64_t circles;     /* of FULL: repeats a few addresses of emitted code */
	uint64_t main;        /* of all: taken in the main thread */
	/* Facts of the first sample: */
	uint64_t time, next, frames;
	uint64_t dump;  /* in bytes */
	uint32_t limit; /* length of chains that the event itself requests; 0: none */
	uint32_t tid;
};

struct jp_ends {
	struct jp_places *places;
	struct jp_codes codes;
	struct jp_stacks *stacks;
	struct jp_elf_store *store;
	struct jp_call_sites *sites;
	struct jp_changed_files *changed;
	struct jp_images images;
	struct jp_end *list;
	size_t count, capacity;
	struct jp_map at;   /* index + 1, by a hash of image, kind and address */
	struct jp_map both; /* samples whose chains lack the caller of the sampled function, by the
			       indexes of HERE (upper half) and LEAF */
	uint64_t none;      /* samples without user stack and user address */
	uint64_t first_sample; /* time of the first sample */
};

/* Returns whether the function at @end links its frame, so that the next address is its caller in
 * unrecorded code. */
bool jp_end_has_unknown_caller(const struct jp_end *end);

/* Returns whether the sampled function and others of its file link no frame. */
static inline bool jp_end_has_no_frame(const struct jp_end *leaf)
{
	return !leaf->keeps && (leaf->use == JP_FRAME_KEPT || leaf->use == JP_FRAME_USED);
}

struct jp_ends *jp_ends_new(struct jp_replay *spaces, const char *elf_dir,
			    struct jp_file_finder *finder, struct jp_changed_files *changed);
void jp_ends_free(struct jp_ends *ends);
/* Applies @event to the spaces; for a sample counts where its stack, which is stored in @stack,
 * ends. Returns 0 or -ENOMEM. */
int jp_ends_handle(struct jp_ends *ends, const struct jp_event *event, struct jp_stack *stack);
