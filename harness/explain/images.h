/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/explain/code.h"
#include "harness/format/event.h"
#include "harness/model/space/places.h"

/* Only the code of programs that are not PIE lies below this address. A JIT that requests low
 * memory (MAP_32BIT) gets memory above it. */
#define JP_LOW_END UINT64_C(0x40000000)

/* One image of a process: from its fork or exec to the next exec. */
struct jp_image {
	uint32_t pid;
	char process[16];      /* name of the process */
	const char *program;   /* file name of the main program; NULL: unknown */
	const char *anon;      /* name of a mapping of emitted code; NULL: none */
	const char *library;   /* name of a known runtime's library; NULL: none */
	const char *caller;    /* the file that calls emitted code in most chains, if any */
	uint64_t votes;        /* chains with @caller minus chains with another file: while it is
				  positive, @caller stays (majority vote) */
	bool injected, memory; /* mapping records show: files that inject wrote; emitted code in
				  memory */
	bool exec;             /* the exec that began it was recorded */
	bool synthesized;      /* its mappings were recorded before any event */
	bool anon_before;      /* so was memory with emitted code */
	bool libc;             /* libc, libpthread or ld.so is mapped */
	bool files;            /* a file is mapped */
	bool begun;            /* its exec is complete: a sample in user space, or a mapping */
	bool hollow;           /* a sample in user space has an empty or a partial dump */
	uint64_t samples;      /* samples with a user stack */
	uint64_t uninjected;   /* part of @samples: before the first file that inject wrote */
	uint64_t in_jit;       /* part of @samples: taken in emitted code */
	uint64_t starting;     /* part of @samples: before the first of @in_jit */
	uint64_t calls_jit;    /* part of @in_jit: called by emitted code, according to the chain */
	uint64_t skips_stub;   /* part of @in_jit: the chain lacks HotSpot's call stub */
	uint64_t here[JP_CODE_KINDS]; /* part of @samples: kind JP_END_HERE, by the end's code */
	uint64_t whole;          /* part of @samples: complete stacks, as far as the walk shows */
	uint64_t interpreted;    /* stacks with frames of an interpreter and no emitted code */
	const char *interpreter; /* the interpreter's file */
	uint64_t in_files;       /* samples with an address in a known file */
	uint64_t unmapped;       /* samples in code of no mapping */
	uint64_t unmapped_since; /* part of @unmapped: after the last sample in a known file */
	uint64_t low, high;      /* range of the addresses in no mapping */
	uint64_t elsewhere;      /* part of @unmapped: addresses that only another program has */
	bool main_root;          /* chains of the main thread reach its first function */
	bool recursion;          /* a chain shows emitted code's recursion, and what began it */
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
struct jp_image *jp_image_get(struct jp_images *images, uint32_t pid);
/* Updates @images by @event, which images->places have applied already. @sampled: a sample came
 * before @event. Returns 0 or -ENOMEM. */
int jp_images_handle(struct jp_images *images, const struct jp_event *event, bool sampled);
/* Notes that one chain shows @caller as the file that calls emitted code. */
void jp_image_note_caller(struct jp_image *image, const char *caller);
/* Returns whether a mapping called @name is the main program of @pid; false if that program is
 * unknown. */
bool jp_images_is_program(const struct jp_images *images, uint32_t pid, const char *name);
void jp_images_free(struct jp_images *images);

/* Returns whether an exec in @image was not recorded: it has no file mappings, or now runs at
 * addresses that do not belong to the program whose mappings were recorded. */
bool jp_image_was_replaced(const struct jp_image *image);
