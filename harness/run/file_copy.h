/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"

/* Copies the regular file @from, which may be anyone's (no link is followed), to the new file @to;
 * holes stay holes. 0, or -errno and a message. */
int jp_file_copy_to(const char *from, const char *to, struct jp_error *err);
