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
 * text (no name, only @help), or another table. An empty row ends the table. A row has one
 * destination; a row without a value is a switch. Values come as "--seed=1", "--seed 1" or, with a
 * short name, "-s1".
 */
struct jp_option {
	const char *name, *brief; /* "--freq", and "-F" if it has a short name */
	const char *value;        /* its value in the usage: "HZ"; NULL: by @words */
	const char *help;         /* one or two sentences; NULL: not in the usage */

	bool *set, *clear;        /* of a switch; with @words: whether it is the last word */
	const char **text;        /* any text but the empty one */
	const char **second;      /* a second value, in the next word */
	unsigned *number;         /* from @least to @most; with @words: the index of the word */
	uint64_t *wide;           /* the same, 64 bits */
	uint64_t least, most;     /* @most 0: any */
	const char *const *words; /* NULL-terminated */
	/* Handles the value @text. Returns 0, or -errno and a sentence on what is wrong. @context
	 * is the row's. */
	int (*take)(const struct jp_option *option, const char *text, struct jp_error *err);
	struct jp_operands *rest; /* for operands: all remaining ones */
	bool verbatim;            /* for @rest: take options from the first on, too */

	const struct jp_option *(*more)(void *context); /* another table */
	void *context;

	bool needed; /* @text only: it is an error if it is missing */
	/* Bits. Rows without a common bit exclude each other; of the remaining modes, the lowest
	 * decides what is needed. 0: all. */
	unsigned modes;
	/* Prints the values that it can have to @out, a line each, maybe with a tab and a
	 * description. NULL: @words; for @text or @rest without words any file. */
	void (*print_values)(FILE *out);
};

/* What jp_options_complete() prints where a file's name is expected. */
#define JP_OPTION_FILES "<file>"

/* Reads @argv from index 1; operands move to the front. Returns 0; 1: --help or -h is there; or
 * -EINVAL and a message. */
int jp_options_read(const struct jp_option *options, int argc, char **argv, struct jp_error *err);
/* Reads one "--name=value", or "--name" of a switch. Returns 1; 0: no row accepts it (short names
 * and separate values are not accepted); or -EINVAL. */
int jp_option_take(const struct jp_option *options, const char *arg, struct jp_error *err);
/* Prints the values that @option can have to @out, a line each; nothing where they are unknown. */
void jp_option_print_values(const struct jp_option *option, FILE *out);
/* Prints the rows in 80 columns. */
void jp_options_print(const struct jp_option *options, FILE *out);
/* Prints what the last word of @argv can be after the words before it, as @print_values does, for a
 * shell to select from. After "--option=" these are its values alone. */
void jp_options_complete(const struct jp_option *options, int argc, char **argv);
