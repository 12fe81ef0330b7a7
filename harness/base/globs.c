// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/globs.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/nearest.h"

static bool is_matched(const char *glob, const struct jp_arguments *names)
{
	for (size_t i = 0; i < names->count; i++)
		if (fnmatch(glob, names->list[i], 0) == 0)
			return true;
	return false;
}

/* Returns whether @word is one of @names, in which a backslash is an ordinary character. */
static bool is_name(const char *word, const struct jp_arguments *names)
{
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(word, names->list[i]) == 0)
			return true;
	return false;
}

/* Compares the word with @name and with both sides of its first slash, because users also type only
 * the study of a case. */
static void compare_name_and_parts(struct jp_nearest *nearest, const char *name)
{
	const size_t first = strcspn(name, "/");
	char part[80];

	jp_nearest_compare(nearest, name);
	if (!name[first])
		return;
	snprintf(part, sizeof(part), "%.*s", (int)first, name);
	jp_nearest_compare(nearest, part);
	jp_nearest_compare(nearest, name + first + 1);
}

const char *jp_globs_hint(const char *word, const struct jp_arguments *names, char *text,
			  size_t size)
{
	struct jp_nearest nearest = {.word = word};

	for (size_t i = 0; i < names->count; i++)
		compare_name_and_parts(&nearest, names->list[i]);
	return jp_nearest_hint(&nearest, text, size);
}

int jp_globs_read(struct jp_arguments *globs, const struct jp_operands *words,
		  const struct jp_arguments *names, const char *kind, struct jp_error *err)
{
	char hint[120];

	if (names->failed)
		return jp_fail(err, ENOMEM, "out of memory");
	for (int i = 0; i < words->count; i++) {
		const char *word = words->list[i];
		const char *pattern_end = strpbrk(word, "*?[") || is_name(word, names) ? "" : "*";

		jp_arguments_add(globs, "%s%s%s", pattern_end, word, pattern_end);
		if (globs->failed)
			return jp_fail(err, ENOMEM, "out of memory");
		if (!is_matched(globs->list[i], names))
			return jp_fail(err, ENOENT, "no %s matches '%s'%s", kind, word,
				       jp_globs_hint(word, names, hint, sizeof(hint)));
	}
	return 0;
}

bool jp_globs_match(const struct jp_arguments *globs, const char *name)
{
	for (size_t i = 0; i < globs->count; i++)
		if (fnmatch(globs->list[i], name, 0) == 0)
			return true;
	return !globs->count;
}
