/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

#include "harness/base/error.h"
#include "harness/base/word_set.h"

/* This program, changed to run without the machine's libraries: started in a folder with the loader
 * as `loader` and the libraries in `libraries/`, it uses those. It can start itself again there,
 * unlike a program that is an argument of the loader (/proc/self/exe would be the loader). */
struct jp_portable {
	unsigned char *program; /* a changed copy */
	size_t size;
	char build_id[41];
	char *loader; /* path of the loader on this machine; NULL: linked statically */
	struct jp_word_set libraries; /* paths on this machine; their last parts are distinct too */
	/* Targets of their links; the loader's is last. */
	char **files;
	size_t nr_files;
};

int jp_portable_make(struct jp_portable *portable, struct jp_error *err);
void jp_portable_free(struct jp_portable *portable);
