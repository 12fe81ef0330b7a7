/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/option.h"

/* Reads a command's @argv into where @options say. False: there is nothing left to do but to end
 * with *@status: help was asked for, or something is wrong, and said. */
bool jp_command_line(const struct jp_option *options, int argc, char **argv, int *status);
/* False: what @command would record could not be told from what else runs, which is said; it ends
 * with *@status. */
bool jp_command_can_record(const char *command, int *status);
/* Says what is wrong with the command line of @command. JP_EXIT_USAGE. */
int jp_command_misused(const char *command, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Says why @command has failed. JP_EXIT_BROKEN. */
int jp_command_broken(const char *command, const struct jp_error *err);
