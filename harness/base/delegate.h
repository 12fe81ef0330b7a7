/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"

/* Messages of one size between two of our processes, with at most one descriptor (-1: none),
 * through a SOCK_SEQPACKET socket pair. Both functions return false if the other end is closed or
 * the message has another size. */
bool jp_message_send(int channel, const void *bytes, size_t size, int fd);
bool jp_message_receive(int channel, void *bytes, size_t size, int *fd);

/* Requests of a confined process (confine.h) to the waiting process, which has more privileges. It
 * opens the input, regular files in folders of the input that no other user can write to, and, if
 * the input belongs to root, files of a harmless kind. It also creates, renames and removes
 * outputs. */
enum jp_delegated {
	JP_DELEGATED_INPUT,  /* open the input, by the exact path on the command line */
	JP_DELEGATED_FILE,   /* open a regular file */
	JP_DELEGATED_FOLDER, /* open a folder, to list it */
	JP_DELEGATED_ROOT,   /* open the root directory of a process, given its pid */
	JP_DELEGATED_KEEP,   /* jp_new_file_publish() */
	/* jp_output_folder_create(), _publish() and _existing() */
	JP_DELEGATED_CREATE,
	JP_DELEGATED_PUBLISH,
	JP_DELEGATED_EXISTING,
};

/* A request, sent by jp_message_send(). */
struct jp_delegate_request {
	uint32_t kind;
	char path[PATH_MAX];
};
struct jp_delegate_answer {
	int32_t result; /* 0, maybe with a descriptor in the same message; or -errno */
	struct jp_error err;
};

/* Returns whether this process is confined. */
bool jp_is_confined(void);
/* Marks this process as confined; @channel leads to the waiting process. */
void jp_delegate_begin(int channel);
/* Requests @kind with @path. Returns a descriptor (0 if the request yields none), or -errno and a
 * message; -ENOTSUP if this process is not confined. */
int jp_delegate_ask(enum jp_delegated kind, const char *path, struct jp_error *err);
