/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

#include "harness/base/error.h"
#include "harness/base/arguments.h"

/* A copy of this program, changed to run without the machine's libraries: it uses the dynamic
 * loader `loader` and the libraries in `libraries/` of the folder in which it is started. It can
 * start itself again there, unlike a program that is an argument of the loader (/proc/self/exe
 * would be the loader). */
struct jp_portable {
	unsigned char *program; /* bytes of the changed copy */
	size_t size;
	char build_id[41];
	char *loader; /* path of the loader on this machine; NULL: linked statically */
	struct jp_word_set libraries; /* paths on this machine; their file names are distinct */
	/* Targets of the links at the paths of @libraries; the last is that of @loader. */
	char **files;
	size_t nr_files;
};

int jp_portable_make(struct jp_portable *portable, struct jp_error *err);
void jp_portable_free(struct jp_portable *portable);
