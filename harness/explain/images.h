/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/explain/code.h"
#include "harness/format/event.h"
#include "harness/model/space/places.h"

/* Below this address are only programs that are not PIE. A JIT that requests low memory (MAP_32BIT)
 * gets it above. */
#define JP_LOW_END UINT64_C(0x40000000)

/* One image of a process: from its fork or exec to the next exec. */
struct jp_image {
	uint32_t pid;
	char process[16];      /* name of the process */
	const char *program;   /* file name of the main program; NULL: unknown */
	const char *anon;      /* name of a mapping of emitted code; NULL: none */
	const char *library;   /* name of a known runtime's library; NULL: none */
	const char *caller;    /* the file that calls emitted code in most chains, if any */
	uint64_t votes;        /* votes for @caller minus votes for other files */
	bool injected, memory; /* records show injected files of code; other emitted code */
	bool exec;             /* the exec that began it was recorded */
	bool synthesized;      /* its mappings were recorded before any event */
	bool anon_before;      /* memory of emitted code was, too */
	bool libc;             /* libc or libpthread is mapped */
	bool files;            /* a file is mapped */
	bool begun;            /* a sample was taken in it after its exec was complete */
	bool hollow;           /* a sample in user space has an empty or a partial dump */
	uint64_t samples;      /* samples with a user stack */
	uint64_t in_jit;       /* part of @samples: taken in emitted code */
	uint64_t calls_jit;    /* part of @in_jit: called by emitted code, according to the chain */
	uint64_t here[JP_CODE_KINDS]; /* part of @samples: JP_END_HERE, by kind of code */
	uint64_t whole;          /* part of @samples: complete stacks, as far as the walk shows */
	uint64_t interpreted;    /* part of @whole: with an interpreter and without emitted code */
	const char *interpreter; /* the interpreter's file */
	uint64_t in_files;       /* samples with an address in a known file */
	uint64_t unmapped;       /* samples in code of no mapping */
	uint64_t unmapped_since; /* part of @unmapped: after the last sample in a known file */
	uint64_t low, high;      /* range of the addresses in no mapping */
	uint64_t elsewhere;      /* part of @unmapped: with a stack that only another program has */
	bool main_root;          /* chains of the main thread show its begin */
	bool recursion;          /* a chain shows recursion of emitted code, and its begin */
	bool low_file; /* a mapping lies below JP_LOW_END, as in programs that are not PIE */
};

/* All images of a recording; all zero at first, except @places. */
struct jp_images {
	struct jp_places *places;
	struct jp_map current; /* struct jp_image *, by pid */
	struct jp_image **all;
	size_t count, capacity;
};

/* Returns the current image of @pid, and creates it if necessary. Its address never changes. NULL:
 * out of memory. */
struct jp_image *jp_image_of(struct jp_images *images, uint32_t pid);
/* Updates images by @event, which the places have applied already; @sampled: after the first
 * sample. Returns 0 or -ENOMEM. */
int jp_images_handle(struct jp_images *images, const struct jp_event *event, bool sampled);
/* Notes that one chain shows @caller as the file that calls emitted code. */
void jp_image_vote(struct jp_image *image, const char *caller);
/* Returns whether mappings called @name are of the main program of @pid, as far as known. */
bool jp_images_is_program(const struct jp_images *images, uint32_t pid, const char *name);
void jp_images_free(struct jp_images *images);

/* Returns whether an exec of @image was not recorded: its program is unknown, or no longer the
 * program whose files are known. */
bool jp_image_replaced(const struct jp_image *image);
