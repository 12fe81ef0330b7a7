/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/option.h"

struct jp_command;

/* Reads a command's @argv according to @options. Returns false after printing help or an error: the
 * command must then exit with *@status. */
bool jp_command_line(const struct jp_option *options, int argc, char **argv, int *status);
/* Prints the possible values of the last word of @command's @argv (jp_options_complete()). Calls
 * the command, whose first step jp_command_line() prints them and ends it. */
void jp_command_complete(const struct jp_command *command, int argc, char **argv);
/* Returns whether @command can record here. If /proc shows another pid namespace, so that pids in
 * records would name wrong processes, prints that and sets *@status. */
bool jp_command_can_record(const char *command, int *status);
/* Prints a message about an error in the command line of @command. Returns JP_EXIT_USAGE. */
int jp_command_fail_usage(const char *command, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Prints why @command failed. Returns JP_EXIT_BROKEN. */
int jp_command_fail(const char *command, const struct jp_error *err);
/* Help text of operands that jp_globs_read() reads. */
#define JP_GLOB_HELP "a name, a part of names, or a pattern of whole names"
/* Returns a random seed, short enough to type again. */
uint64_t jp_draw_seed(void);
