/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/confine.h"

/* Continues in a confined process (harness/base/confine.h), before the first byte of an untrusted
 * file is read; outputs must be open. Returns true in the process that waits, which must end with
 * *@status, also on errors. @folder and @other: further files that @command reads; NULL: none. */
bool jp_reading_begins(const char *command, const char *input, const char *folder,
		       const char *other, int *status);
/* The same with the settings in @confine. */
bool jp_reading_of(const char *command, const struct jp_confine *confine, int *status);

/* Returns @status, or prints a message and returns JP_EXIT_BROKEN if memory or files were short. */
int jp_reading_ends(const char *command, int status);
