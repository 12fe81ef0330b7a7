/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/base/error.h"

/* The operands of a command line: @list points into argv. */
struct jp_operands {
	char **list;
	int count;
};

/*
 * A row of a command line's table: an option ("--seed"), an operand ("FILE": no dash), a line of
 * text (no name, only @help), or another table. An empty row ends the table. A row stores its value
 * in one of @set, @clear, @text, @number, @number64, @parse or @operands. A row with only @set or
 * @clear is a switch, an option without a value. Values come as "--seed=1", "--seed 1" or, with a
 * short name,
 * "-s1".
 */
struct jp_option {
	/* Long and short name, such as "--freq" and "-F"; @brief may be NULL. */
	const char *name, *brief;
	/* The value's name in the usage: "HZ"; NULL: @words joined by "|" */
	const char *value;
	const char *help; /* one or two sentences; NULL: not in the usage */

	/* A switch sets *@set or clears *@clear; with @words, *@set: whether the last of them was
	 * chosen. */
	bool *set, *clear;
	const char **text;   /* destination of any text except "" */
	const char **second; /* destination of a second value of the option */
	/* Destination of a number from @min to @max; with @words: of the chosen word's index. */
	unsigned *number;
	uint64_t *number64;       /* destination of a 64-bit number from @min to @max */
	uint64_t min, max;        /* range of a number; @max 0: no upper limit */
	const char *const *words; /* the allowed values, NULL-terminated; NULL: any */
	/* Handles the value @text; option->context is for its use. Returns 0, or -errno and a
	 * sentence that states the fault. */
	int (*parse)(const struct jp_option *option, const char *text, struct jp_error *err);
	struct jp_operands *operands; /* destination of all remaining operands */
	/* With @operands: every word after the first operand is an operand, even if it begins with
	 * '-'. */
	bool verbatim;

	/* Returns another table, whose rows replace this row. */
	const struct jp_option *(*get_more)(void *context);
	void *context;

	bool is_required; /* for @text: fail if the command line does not have it */
	/* Modes of the command in which the row is allowed, as a bit mask; 0: all. Rows without a
	 * common mode exclude each other. The lowest mode that all given rows allow decides which
	 * rows are @is_required. */
	unsigned modes;
	/* Prints the row's possible values to @out, a line each, optionally with a tab and a
	 * description. NULL: the values are @words, or file names for @text or @operands without
	 * words. */
	void (*print_values)(FILE *out);
};

/* The line that jp_options_complete() prints if the value is a file's name. */
#define JP_OPTION_FILES "<file>"

/* Reads @argv from index 1 and moves operands to its front. Returns 0; 1 if @argv has --help or -h;
 * or -EINVAL and a message. */
int jp_options_read(const struct jp_option *options, int argc, char **argv, struct jp_error *err);
/* Reads one "--name=value", or "--name" of a switch. Returns 1; 0: no row accepts it (short names
 * and separate values are not accepted); or -EINVAL. */
int jp_option_take(const struct jp_option *options, const char *arg, struct jp_error *err);
/* Prints the possible values of @option to @out, a line each; nothing if they are unknown. */
void jp_option_print_values(const struct jp_option *option, FILE *out);
/* Prints the help of all rows, 80 columns wide. */
void jp_options_print(const struct jp_option *options, FILE *out);
/* Prints the possible completions of the last word of @argv for a shell, a line each, as
 * print_values() of a row does. If that word starts with "--option=", prints only the option's
 * values. */
void jp_options_complete(const struct jp_option *options, int argc, char **argv);
