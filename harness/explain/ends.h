/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/explain/changed_files.h"
#include "harness/explain/ending.h"
#include "harness/explain/images.h"
#include "harness/model/space/places.h"
#include "harness/model/unwind/call_sites.h"
#include "harness/model/unwind/frame_use.h"

/*
 * Where and how the stacks of a file end, counted by address: a few numbers for each place, however
 * many samples there are. What an end means, explainers judge when all is read.
 */

struct jp_end {
	struct jp_image *image;
	enum jp_end_kind kind;
	enum jp_code_kind code;
	enum jp_frame_use use; /* of files */
	const char *file;      /* the mapping's name; NULL: there is none */
	bool remapped;         /* its text is in memory that took its place */
	uint64_t addr;
	uint64_t start, end; /* of the mapping, or the page */
	uint64_t vaddr;      /* @addr as the file's own headers have it */
	bool keeps;          /* the file was built to keep the frame pointer */
	uint64_t samples;
	uint64_t from_jit;    /* of those, taken in emitted code */
	uint64_t cut, hollow; /* of those that end for want of call frame information: by frame
			       * pointers they end where the dump does, full or not */
	uint64_t blank;       /* of those, taken in the kernel, with nothing in their dumps */
	uint64_t nr_frames;   /* of all of them */
	uint64_t garbage;     /* of those, with addresses behind it that are none */
	uint64_t again;       /* of those, with the same one as the first */
	uint64_t skips;   /* of all of them: emitted code that shows another's caller for its own */
	uint64_t skipped; /* what the first of them shows */
	uint64_t circles; /* of FULL: those that repeat a few addresses of emitted code */
	uint64_t main;    /* of all of them, taken in the main thread */
	/* The first of them: */
	uint64_t time, next, frames;
	uint64_t dump;  /* bytes */
	uint32_t limit; /* addresses of a chain that the event itself asks for; 0: none */
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
	struct jp_map at;   /* index + 1 in the list, by a hash of image, kind and address */
	struct jp_map both; /* samples, by the indexes of HERE (upper half) and of LEAF, of chains
			     * that lack the caller of their sampled function */
	uint64_t none;      /* samples that have no user stack, and no user address */
	uint64_t first_sample; /* its time */
};

/* Whether the function at @end does link its frame, so that what follows is the address of its
 * caller: code that no record tells of. */
bool jp_end_has_unknown_caller(const struct jp_end *end);

/* Whether the sampled function links no frame, and others of its file do not either. */
static inline bool jp_end_has_no_frame(const struct jp_end *leaf)
{
	return !leaf->keeps && (leaf->use == JP_FRAME_KEPT || leaf->use == JP_FRAME_USED);
}

struct jp_ends *jp_ends_new(struct jp_replay *spaces, const char *elf_dir,
			    struct jp_file_finder *finder, struct jp_changed_files *changed);
void jp_ends_free(struct jp_ends *ends);
/* Applies @event to the spaces; or, of a sample, counts where its stack ends, which is left in
 * @stack. 0 or -ENOMEM. */
int jp_ends_see(struct jp_ends *ends, const struct jp_event *event, struct jp_stack *stack);
