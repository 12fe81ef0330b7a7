/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/base/error.h"

/* What of a command line is no option: @list points into argv. */
struct jp_operands {
	char **list;
	int count;
};

/*
 * A row of a command line's table: an option ("--seed"), an operand ("FILE": its name has no dash),
 * a line of text (without a name, only @help), or another table. A table ends with an empty row. A
 * row has one destination; only one without a value is a switch. Values come as "--seed=1",
 * "--seed 1" or, of a short name, "-s1".
 */
struct jp_option {
	const char *name, *brief; /* "--freq", and "-F" where it has a short name */
	const char *value;        /* what usage calls it: "HZ"; NULL: as @words say */
	const char *help;         /* a sentence or two; NULL: usage does not show it */

	bool *set, *clear;        /* a switch; with @words: whether it is the last of them */
	const char **text;        /* any but the empty one */
	const char **second;      /* another, in the next word */
	unsigned *number;         /* from @least to @most; with @words: which of them */
	uint64_t *wide;           /* the same */
	uint64_t least, most;     /* @most 0: any */
	const char *const *words; /* up to a NULL */
	/* 0, or -errno and a sentence that @text, the value, is not. @context is the row's. */
	int (*take)(const struct jp_option *option, const char *text, struct jp_error *err);
	struct jp_operands *rest; /* of operands: all that are left */
	bool verbatim;            /* of @rest: from the first on, options too */

	const struct jp_option *(*more)(void *context); /* another table */
	void *context;

	bool needed; /* an error where it is not there: @text only */
	/* Bits; rows without one in common exclude each other, and of those that are left the
	 * lowest says what is needed. 0: all. */
	unsigned modes;
};

/*
 * Reads @argv from 1 on into where @options say; its operands move to the front. 0; 1: --help or -h
 * is among them; -EINVAL: @err says what is wrong.
 */
int jp_options_read(const struct jp_option *options, int argc, char **argv, struct jp_error *err);
/* Reads one "--name=value", or "--name" of a switch. 1; 0: no row takes it, as none takes its short
 * name or a value in the next word; -EINVAL. */
int jp_option_take(const struct jp_option *options, const char *arg, struct jp_error *err);
/* A line or more for each row, in 80 columns. */
void jp_options_print(const struct jp_option *options, FILE *out);
