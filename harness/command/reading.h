/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/confine.h"

/*
 * What all commands that read what others wrote do before the first byte: outputs are open by now,
 * and the rest runs confined (harness/base/confine.h). True: in the process that stayed, which is
 * to end with *@status, as it is where that went wrong. @folder and @other are what else
 * @command reads, NULL: nothing.
 */
bool jp_reading_begins(const char *command, const char *input, const char *folder,
		       const char *other, int *status);
/* The same of what @confine says. */
bool jp_reading_of(const char *command, const struct jp_confine *confine, int *status);

/* What they do last: @status, or JP_EXIT_BROKEN after a word on stderr, where memory or files were
 * short. */
int jp_reading_ends(const char *command, int status);
