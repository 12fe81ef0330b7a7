/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/explain/code.h"
#include "harness/format/event.h"
#include "harness/model/space/places.h"

/* Programs that are not PIE lie below, and nothing else: a JIT that asks for low memory gets it
 * from there on (MAP_32BIT). */
#define JP_LOW_END UINT64_C(0x40000000)

/* One image of one process: from its fork or exec to the next. */
struct jp_image {
	uint32_t pid;
	char process[16];      /* its name */
	const char *program;   /* the file of the main program; NULL: unknown */
	const char *anon;      /* some memory of emitted code that a record told of; NULL: none */
	bool injected, memory; /* records told of code that inject made files of, and of other
				* emitted code */
	bool exec;             /* its exec was seen */
	bool synthesized;      /* its mappings were told before there was any event */
	bool anon_before;      /* so was memory of emitted code */
	bool libc;             /* libc or libpthread is among its mappings */
	bool files;            /* some file is */
	bool begun;            /* a sample was taken in it, not in the exec that made it */
	bool hollow;           /* one taken in user space has an empty dump, or part of one */
	uint64_t samples;      /* with a user stack */
	uint64_t in_jit;       /* of those, taken in emitted code */
	uint64_t calls_jit;    /* of those, called by emitted code, as the chain has it */
	uint64_t here[JP_CODE_KINDS]; /* of those, JP_END_HERE, by what is there */
	uint64_t whole;               /* as far as the walk itself shows */
	uint64_t interpreted;         /* whole ones with an interpreter and without emitted code */
	const char *interpreter;      /* its file */
	uint64_t in_files;            /* samples with an address in a known file */
	uint64_t unmapped;            /* samples that run code in no mapping */
	uint64_t unmapped_since;      /* of those, after the last in a known file */
	uint64_t low, high;           /* of the addresses in no mapping */
	uint64_t elsewhere; /* of those samples, of a stack that only another program has */
	bool main_root;     /* chains of the main thread show where it began */
	bool recursion;     /* a chain shows emitted code that calls itself, and where that began */
	bool low_file;      /* a mapping is where programs lie that are not PIE */
};

/* All zero but the places to start with. */
struct jp_images {
	struct jp_places *places;
	struct jp_map current; /* struct jp_image *, by pid */
	struct jp_image **all;
	size_t count, capacity;
};

/* The current one of @pid, made where there is none; stays where it is. NULL: no memory. */
struct jp_image *jp_image_of(struct jp_images *images, uint32_t pid);
/* What @event, which the places have applied, tells of images; @sampled: after the first sample. 0
 * or -ENOMEM. */
int jp_images_see(struct jp_images *images, const struct jp_event *event, bool sampled);
/* Whether mappings called @name are of the main program of @pid, as far as that is known. */
bool jp_images_is_program(const struct jp_images *images, uint32_t pid, const char *name);
void jp_images_free(struct jp_images *images);

/* Whether @image is no more the program whose files are known, or none is: an exec was not seen. */
bool jp_image_replaced(const struct jp_image *image);
