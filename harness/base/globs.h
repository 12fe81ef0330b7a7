/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/arguments.h"
#include "harness/base/error.h"
#include "harness/base/option.h"

/* Turns @words of a command line into patterns that jp_globs_match() takes. A word that contains
 * one of *?[ is used as a pattern. A word equal to one of @names matches only that name. Any other
 * word matches each name that contains it. Returns 0; -ENOENT and a message with a suggestion if a
 * word matches no name of a @kind ("case"); -ENOMEM. */
int jp_globs_read(struct jp_arguments *globs, const struct jp_operands *words,
		  const struct jp_arguments *names, const char *kind, struct jp_error *err);
/* Returns whether one of @globs matches the whole @name, or @globs is empty. */
bool jp_globs_match(const struct jp_arguments *globs, const char *name);
/* Stores a question such as "; did you mean 'growth/anon'?" in @text, or "" if @word resembles none
 * of @names, nor the part before or after a slash. Returns @text. */
const char *jp_globs_hint(const char *word, const struct jp_arguments *names, char *text,
			  size_t size);
