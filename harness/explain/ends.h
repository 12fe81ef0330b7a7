/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/explain/changed_files.h"
#include "harness/explain/ending.h"
#include "harness/explain/images.h"
#include "harness/model/space/places.h"
#include "harness/model/unwind/call_sites.h"

/* A place where stacks end in one way (@kind), with a few counts, so that memory does not grow with
 * the number of samples. Explainers judge the places after the last event. */

struct jp_end {
	struct jp_image *image;
	enum jp_end_kind kind;
	enum jp_code_kind code;
	enum jp_frame_use use; /* for ends in files */
	const char *file;      /* name of the mapping; NULL: none */
	bool remapped;         /* memory replaced the file's text */
	bool changed;          /* another file has replaced @file since */
	uint64_t addr;
	uint64_t start, end; /* range of the mapping or the page */
	uint64_t vaddr;      /* @addr in the file's own address space */
	bool has_fp;         /* the file was built with frame pointers */
	bool frameless_call; /* the function links a frame record, but calls before that, as
				functions call __morestack() (-fsplit-stack) */
	bool bare;           /* the file has call frame information, but none for @addr */
	uint64_t samples;
	uint64_t from_jit;    /* part of @samples: taken in emitted code, which may have broken the
				 chain */
	uint64_t starting;    /* part of @samples: before the image's first in emitted code */
	uint64_t cut, hollow; /* part of @samples, for stacks without call frame information: a walk
				 by frame pointers ends with a full dump (cut) or with a smaller one
				 (hollow) */
	uint64_t switched;    /* part of @samples: the frame pointer leads to another stack */
	uint64_t blank;       /* part of @samples: taken in the kernel, with empty dumps */
	uint64_t system;      /* part of @samples: in the kernel, if the place is in libc */
	uint64_t nr_frames;   /* number of frames of all samples */
	uint64_t garbage;     /* part of @samples: garbage addresses follow the end */
	uint64_t again;       /* part of @garbage: the same first garbage address as in @next */
	uint64_t astray;  /* part of @garbage: more addresses than the start of a program leaves */
	uint64_t skips;   /* part of @samples: the stack skips the caller of the code here */
	uint64_t stubbed; /* part of @samples: HotSpot's call stub seems to be the caller */
	uint64_t skipped; /* the caller's caller in the first of @skips and
			     @stubbed */
	uint64_t circles; /* part of @samples, if FULL: the chain repeats emitted addresses */
	uint64_t main;    /* part of @samples: taken in the main thread */
	/* Facts of the first sample: */
	uint64_t time, next, frames;
	uint64_t dump;  /* size of the dump in bytes */
	uint32_t limit; /* largest chain that the event itself requests; 0: no request */
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
	struct jp_map at;      /* index in @list + 1, by a hash of image, kind and address */
	struct jp_map both;    /* number of samples whose chains lack the caller of the sampled
				  function, by indexes of the HERE end (upper half) and LEAF end */
	uint64_t none;         /* samples without user stack and user address */
	uint64_t first_sample; /* time of the first sample */
};

/* Returns whether the function at @end links its frame record. Then the next address of the chain
 * is its caller, although no mapping record contains that address. */
bool jp_end_has_unknown_caller(const struct jp_end *end);

/* Returns whether the function sampled at @leaf, like others of its file, links no frame record. */
static inline bool jp_end_has_no_frame(const struct jp_end *leaf)
{
	return !leaf->has_fp && (leaf->use == JP_FRAME_KEPT || leaf->use == JP_FRAME_USED);
}

struct jp_ends *jp_ends_new(struct jp_replay *spaces, const char *elf_dir,
			    struct jp_file_finder *finder, struct jp_changed_files *changed,
			    const struct jp_perfdata_summary *summary);
void jp_ends_free(struct jp_ends *ends);
/* Applies @event to the address spaces. For a sample, stores its stack in @stack and counts where
 * it ends. Returns 0 or -ENOMEM. */
int jp_ends_handle(struct jp_ends *ends, const struct jp_event *event, struct jp_stack *stack);
