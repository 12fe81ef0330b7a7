/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_ENDS_H
#define JP_ENDS_H

#include "harness/explain/changed_files.h"
#include "harness/explain/ending.h"
#include "harness/model/space/places.h"
#include "harness/model/unwind/call_sites.h"
#include "harness/model/unwind/frame_use.h"

/*
 * Where and how the stacks of a file end, counted by address: a few numbers for each place, however
 * many samples there are. What an end means, explainers judge when all is read.
 */

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
	struct jp_map images; /* struct jp_image *, by pid: the current one */
	struct jp_image **all;
	size_t nr_images, images_capacity;
	struct jp_end *list;
	size_t count, capacity;
	struct jp_map at;      /* index + 1 in the list, by a hash of image, kind and address */
	uint64_t none;         /* samples that have no user stack, and no user address */
	uint64_t first_sample; /* its time */
};

/* Whether @image is no more the program whose files are known, or none is: an exec was not seen. */
bool jp_image_replaced(const struct jp_image *image);

/* Whether mappings called @name are of the main program of @pid, as far as that is known. */
bool jp_ends_is_program(const struct jp_ends *ends, uint32_t pid, const char *name);

/* Whether the function at @end does link its frame, so that what follows is the address of its
 * caller: code that no record tells of. */
bool jp_end_has_unknown_caller(const struct jp_end *end);

struct jp_ends *jp_ends_new(struct jp_replay *spaces, const char *elf_dir,
			    struct jp_file_finder *finder, struct jp_changed_files *changed);
void jp_ends_free(struct jp_ends *ends);
/* Applies @event to the spaces; or, of a sample, counts where its stack ends, which is left in
 * @stack. 0 or -ENOMEM. */
int jp_ends_see(struct jp_ends *ends, const struct jp_event *event, struct jp_stack *stack);

#endif
