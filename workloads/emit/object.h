/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "workloads/emit/path.h"

/* A shared object written at run time: an ELF file of emitted functions with exact call frame
 * information and a build id, which the dynamic loader accepts. A workload can replace it, load it
 * twice or give it any name, and the truth still knows each stack in it. */
enum { JP_OBJECT_FUNCTIONS = 8, JP_OBJECT_PATHS = 2 };

/* Shapes and call frame information of an ELF file's functions, where they differ from the default.
 */
struct jp_object_kind {
	enum jp_shape shapes[JP_OBJECT_FUNCTIONS];
	enum jp_object_frames {
		JP_FRAMES_ALL,  /* call frame information of each function */
		JP_FRAMES_LAST, /* of the last function only, as in files with assembly that has no
				   .cfi directives */
		JP_FRAMES_NONE, /* no .eh_frame at all */
	} frames;
	uint64_t word; /* data word of the functions that have one (jp_shape) */
};

struct jp_object {
	char build_id[41];                      /* hexadecimal */
	uint64_t text_at, text_addr, text_size; /* text: file offset, address before relocation,
						   bytes */
	struct jp_function
		functions[JP_OBJECT_FUNCTIONS]; /* @code before relocation, @id and @layout unset */
	bool mixed;                             /* the usual mix, whose paths loading creates */
	const char *memfd; /* name of the memfd that holds the file; NULL: none */
};

/* Writes @path, which must not exist. Objects of different @variant have no function at the same
 * place. @kind NULL: the usual mix. Returns 0 or -errno. */
int jp_object_write(struct jp_object *object, const char *path, unsigned variant,
		    const struct jp_object_kind *kind);

/* A loaded object. */
struct jp_loaded {
	void *handle;
	uint64_t addr, size; /* address and size of the text */
	struct jp_function functions[JP_OBJECT_FUNCTIONS];
	struct jp_path paths[JP_OBJECT_PATHS]; /* paths of the usual mix */
};
/* Returns whether the C library loads copies of a file, and unloads files. musl does neither. */
bool jp_object_can_copy(void);
#define JP_OBJECT_ONCE "a C library with dlmopen()"
/* Loads @path and records its code. @again: loads another copy with dlmopen(), because dlopen()
 * would return the copy that was loaded from this path earlier, whatever file is there now. Returns
 * 0, or -errno with a line on stderr. */
int jp_object_load(const struct jp_object *object, const char *path, int again,
		   struct jp_loaded *loaded);
/* Unloads the object, if the C library unloads files, and frees its paths. No thread may run its
 * code. Returns 0, or -errno with a line on stderr. */
int jp_object_unload(struct jp_loaded *loaded);
