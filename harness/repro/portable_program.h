/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

#include "harness/base/error.h"
#include "harness/base/word_set.h"

/*
 * This program, for a machine that need not have its libraries: when it is started in a folder
 * that holds the loader as `loader` and the libraries in `libraries/`, it takes those. It can start
 * itself again there, which it could not as an argument of the loader (/proc/self/exe would be the
 * loader).
 */
struct jp_portable {
	unsigned char *program; /* a changed copy */
	size_t size;
	char build_id[41];
	char *loader;                 /* path here; NULL: linked statically */
	struct jp_word_set libraries; /* paths here, distinct also in their last parts */
	/* The files that each of them, and the loader, leads to: the loader's comes last. */
	char **files;
	size_t nr_files;
};

int jp_portable_make(struct jp_portable *portable, struct jp_error *err);
void jp_portable_free(struct jp_portable *portable);
/*
 * Sets interpreter and library path in the ELF image of @size bytes at @image, in the room that it
 * has; *@interpreter is what it was (allocated; NULL: it has none, and nothing was changed).
 * -EINVAL and the reason where it is no such image or has no room.
 */
int jp_portable_patch(unsigned char *image, size_t size, char **interpreter, struct jp_error *err);
