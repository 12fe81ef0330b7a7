// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/json_find.h"

#include <string.h>

enum { MAX_DEPTH = 64 };

static const char *blanks(const char *at)
{
	return at + strspn(at, " \t\r\n");
}

/* Behind the string that starts at @at; NULL: no string. */
static const char *skip_string(const char *at)
{
	if (*at++ != '"')
		return NULL;
	for (; *at && *at != '"'; at++)
		if (*at == '\\' && !*++at)
			return NULL;
	return *at ? at + 1 : NULL;
}

/* Behind the value that starts at @at, brackets counted, strings passed over. */
static const char *skip_value(const char *at)
{
	int depth = 0;

	do {
		at = blanks(at);
		if (*at == '"') {
			at = skip_string(at);
			if (!at)
				return NULL;
		} else if (*at == '{' || *at == '[') {
			if (++depth > MAX_DEPTH)
				return NULL;
			at++;
		} else if (*at == '}' || *at == ']') {
			depth--;
			at++;
		} else if (depth && (*at == ',' || *at == ':')) {
			at++;
		} else {
			size_t length = strcspn(at, " \t\r\n,:[]{}\"");

			if (!length)
				return NULL;
			at += length;
		}
	} while (depth > 0);
	return depth ? NULL : at;
}

static bool copy_string(const char *at, char *value, size_t size)
{
	const char *end = skip_string(at);
	size_t length = end ? (size_t)(end - at) - 2 : 0;

	if (!end || length >= size)
		return false;
	memcpy(value, at + 1, length);
	value[length] = '\0';
	return true;
}

bool jp_json_find(const char *text, const char *const *path, char *value, size_t size)
{
	const char *at = blanks(text);

	while (*path) {
		const char *end;
		size_t length = strlen(*path);

		if (*at != '{')
			return false;
		at = blanks(at + 1);
		for (;;) {
			bool found;

			end = skip_string(at);
			if (!end)
				return false;
			found = (size_t)(end - at) == length + 2 &&
				strncmp(at + 1, *path, length) == 0;
			at = blanks(end);
			if (*at++ != ':')
				return false;
			at = blanks(at);
			if (found)
				break;
			at = skip_value(at);
			if (!at)
				return false;
			at = blanks(at);
			if (*at++ != ',')
				return false;
			at = blanks(at);
		}
		path++;
	}
	return copy_string(at, value, size);
}
