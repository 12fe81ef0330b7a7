/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"

/* Opens for reading the file, folder or pipe that this user named. Follows links. Refuses devices,
 * FIFOs of other users, and in a confined process (delegate.h) all FIFOs; pipes are allowed.
 * Returns the descriptor, or -errno and a message. */
int jp_named_input(const char *path, struct jp_error *err);
/* Opens the file of @fd again, to read from its start. @flags: for open(). Returns the descriptor
 * or -errno. */
int jp_reopen_descriptor(int fd, int flags);
