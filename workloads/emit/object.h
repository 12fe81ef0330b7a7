/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "workloads/emit/path.h"

/*
 * A shared object that is made at run time: an ELF file of emitted functions with exact call frame
 * information and a build id, which the dynamic loader takes as any other. So a library can be
 * replaced, loaded twice or called what one likes, and the truth knows each stack in it.
 */
enum { JP_OBJECT_FUNCTIONS = 8, JP_OBJECT_PATHS = 2 };

/* What an object is made of, where it is not to be the usual mix. */
struct jp_object_kind {
	enum jp_shape shapes[JP_OBJECT_FUNCTIONS];
	enum jp_object_frames {
		JP_FRAMES_ALL,  /* call frame information of each function */
		JP_FRAMES_LAST, /* of the last one only, as where assembly has no directives */
		JP_FRAMES_NONE, /* no .eh_frame at all */
	} frames;
	uint64_t word; /* of those whose shape has one */
};

struct jp_object {
	char build_id[41];                      /* hexadecimal */
	uint64_t text_at, text_addr, text_size; /* in the file; from where it is loaded; bytes */
	struct jp_function functions[JP_OBJECT_FUNCTIONS]; /* code: from text_addr on; no id */
	bool mixed; /* the usual mix, of which paths can be made */
};

/* Writes @path, which must not exist. Two of different @variant have nothing at the same place.
 * @kind NULL: the usual mix. 0 or -errno. */
int jp_object_write(struct jp_object *object, const char *path, unsigned variant,
		    const struct jp_object_kind *kind);

/* One that is loaded. */
struct jp_loaded {
	void *handle;
	uint64_t addr, size; /* of its text */
	struct jp_function functions[JP_OBJECT_FUNCTIONS];
	struct jp_path paths[JP_OBJECT_PATHS]; /* of a mixed one */
};
/* @again: by dlmopen(), beside what is loaded from that path already (the loader goes by the name,
 * whatever the file is now). 0 or -errno, and a line on stderr. */
int jp_object_load(const struct jp_object *object, const char *path, int again,
		   struct jp_loaded *loaded);
/* No thread may run it. */
int jp_object_unload(struct jp_loaded *loaded);
