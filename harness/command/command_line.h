/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/option.h"

struct jp_command;

/* Reads a command's @argv by @options. Returns false if the command must end with *@status, after
 * printing help or an error. */
bool jp_command_line(const struct jp_option *options, int argc, char **argv, int *status);
/* Prints the possible values of the last word of @command's @argv (jp_options_complete()), and runs
 * nothing: each command begins with jp_command_line(). */
void jp_command_complete(const struct jp_command *command, int argc, char **argv);
/* Returns whether @command can record. If not, because its records could not be distinguished from
 * other processes', prints why and sets *@status. */
bool jp_command_can_record(const char *command, int *status);
/* Prints an error in the command line of @command. Returns JP_EXIT_USAGE. */
int jp_command_misused(const char *command, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Prints why @command failed. Returns JP_EXIT_BROKEN. */
int jp_command_broken(const char *command, const struct jp_error *err);
/* The help of words for jp_globs_read(). */
#define JP_GLOB_HELP "a name, a part of names, or a pattern of whole names"
/* Returns a random seed, short enough to type again. */
uint64_t jp_seed(void);
