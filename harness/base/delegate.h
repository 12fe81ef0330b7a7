/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/base/error.h"

/*
 * What a confined process (confine.h) cannot do itself, the one that stayed does for it: it opens
 * the input, regular files in folders of the input that nobody else can write to, and, where the
 * input is root's own, files of a harmless kind; and it makes, renames and removes outputs.
 */
enum jp_delegated {
	JP_DELEGATED_INPUT,  /* the very path that was named */
	JP_DELEGATED_FILE,   /* a regular file */
	JP_DELEGATED_FOLDER, /* to list it */
	JP_DELEGATED_ROOT,   /* the root of a process, by its pid, that has other mounts */
	JP_DELEGATED_KEEP,   /* jp_new_file_keep() */
	/* jp_output_folder_*() */
	JP_DELEGATED_CREATE,
	JP_DELEGATED_PUBLISH,
	JP_DELEGATED_EXISTING,
};

/* What goes to and fro, each as a jp_message. */
struct jp_delegate_request {
	uint32_t what;
	char path[PATH_MAX];
};
struct jp_delegate_answer {
	int32_t result; /* 0: there may be a descriptor with it; -errno */
	struct jp_error err;
};

/* In the confined process: whether it is one. */
bool jp_delegated(void);
/* It is, from now on; @channel leads to the process that stayed. */
void jp_delegate_begin(int channel);
/* Asks for @what, with @path. A descriptor (0 where there is none to give), or -errno and a
 * message: -ENOTSUP where nobody is there to ask. */
int jp_delegate_ask(enum jp_delegated what, const char *path, struct jp_error *err);
