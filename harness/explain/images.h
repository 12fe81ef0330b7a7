/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/explain/code.h"
#include "harness/format/event.h"
#include "harness/model/space/places.h"

/* Only programs that are not PIE lie below: a JIT that asks for low memory gets it from there on
 * (MAP_32BIT). */
#define JP_LOW_END UINT64_C(0x40000000)

/* One image of a process: from its fork or exec to the next. */
struct jp_image {
	uint32_t pid;
	char process[16];             /* name of the process */
	const char *program;          /* the file of the main program; NULL: unknown */
	const char *anon;             /* a mapping of emitted code; NULL: none */
	const char *library;          /* a library of a known runtime; NULL: none */
	const char *caller;           /* the file that calls emitted code in most chains, if any */
	uint64_t votes;               /* for it, beyond those for other files */
	bool injected, memory;        /* records show injected files of code; other emitted code */
	bool exec;                    /* its exec was recorded */
	bool synthesized;             /* its mappings were recorded before any event */
	bool anon_before;             /* memory of emitted code was, too */
	bool libc;                    /* libc or libpthread is mapped */
	bool files;                   /* a file is mapped */
	bool begun;                   /* a sample was taken in it, not during its exec */
	bool hollow;                  /* a sample in user space has an empty or a partial dump */
	uint64_t samples;             /* with a user stack */
	uint64_t in_jit;              /* of those, taken in emitted code */
	uint64_t calls_jit;           /* of these, called by emitted code, by the chain */
	uint64_t here[JP_CODE_KINDS]; /* of these, JP_END_HERE, by kind of code */
	uint64_t whole;               /* complete ones, as far as the walk shows */
	uint64_t interpreted;    /* complete ones with an interpreter and without emitted code */
	const char *interpreter; /* the interpreter's file */
	uint64_t in_files;       /* samples with an address in a known file */
	uint64_t unmapped;       /* samples in code of no mapping */
	uint64_t unmapped_since; /* of these, after the last sample in a known file */
	uint64_t low, high;      /* range of the addresses in no mapping */
	uint64_t elsewhere;      /* of these, with a stack that only another program has */
	bool main_root;          /* chains of the main thread show its begin */
	bool recursion;          /* a chain shows recursion of emitted code, and its begin */
	bool low_file;           /* a mapping lies where programs that are not PIE lie */
};

/* All zero at first, except @places. */
struct jp_images {
	struct jp_places *places;
	struct jp_map current; /* struct jp_image *, by pid */
	struct jp_image **all;
	size_t count, capacity;
};

/* Returns the current image of @pid, new if necessary, at a permanent address. NULL: out of
 * memory. */
struct jp_image *jp_image_of(struct jp_images *images, uint32_t pid);
/* Updates images by @event, which the places have applied; @sampled: after the first sample.
 * Returns 0 or -ENOMEM. */
int jp_images_handle(struct jp_images *images, const struct jp_event *event, bool sampled);
/* Notes the file @caller that calls emitted code in one chain. */
void jp_image_vote(struct jp_image *image, const char *caller);
/* Returns whether mappings called @name are of the main program of @pid, as far as known. */
bool jp_images_is_program(const struct jp_images *images, uint32_t pid, const char *name);
void jp_images_free(struct jp_images *images);

/* Returns whether an exec of @image was not recorded: it is no longer the program whose files are
 * known, or none is. */
bool jp_image_replaced(const struct jp_image *image);
