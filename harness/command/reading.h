/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/confine.h"

/* Drops privileges before @command reads untrusted files: continues in a confined process
 * (harness/base/confine.h). Outputs must be open already. @input, @folder, @other_folder: files or
 * folders that @command reads; NULL: none. Returns false in the confined process. Returns true in
 * the waiting process, or on errors; the caller must then exit with *@status. */
bool jp_reading_begin(const char *command, const char *input, const char *folder,
		      const char *other_folder, int *status);
/* Does the same as jp_reading_begin() with the settings in @confine. */
bool jp_reading_begin_with(const char *command, const struct jp_confine *confine, int *status);

/* Returns @status; or prints a message and returns JP_EXIT_BROKEN if memory or descriptors ran out
 * (harness/base/shortage.h). */
int jp_reading_end(const char *command, int status);
