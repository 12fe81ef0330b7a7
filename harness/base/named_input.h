/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"

/* Opens for reading what this user named: a file, a folder or a pipe, through links; no device, and
 * no FIFO of another user's, and no FIFO at all in a confined process (delegate.h), but pipes. The
 * descriptor, or -errno and a message. */
int jp_named_input(const char *path, struct jp_error *err);
/* What is open as @fd once more, read from its start, whoever read before; @flags of open(). The
 * descriptor or -errno. */
int jp_named_again(int fd, int flags);
