// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/json_find.h"

#include <string.h>

#include "harness/base/number.h"

enum { MAX_DEPTH = 64 };

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t\r\n");
}

/* Returns the position after the string at @at, or NULL if there is none. */
static const char *skip_string(const char *at)
{
	if (*at++ != '"')
		return NULL;
	for (; *at && *at != '"'; at++)
		if (*at == '\\' && !*++at)
			return NULL;
	return *at ? at + 1 : NULL;
}

/* Returns the position after the value at @at, or NULL if there is none. Only counts brackets and
 * skips strings. */
static const char *skip_value(const char *at)
{
	int depth = 0;

	do {
		at = skip_blanks(at);
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

static const char *find_value(const char *text, const char *const *path)
{
	const char *at = skip_blanks(text);

	while (*path) {
		const char *end;
		size_t length = strlen(*path);

		if (*at != '{')
			return NULL;
		at = skip_blanks(at + 1);
		for (;;) {
			bool found;

			end = skip_string(at);
			if (!end)
				return NULL;
			found = (size_t)(end - at) == length + 2 &&
				strncmp(at + 1, *path, length) == 0;
			at = skip_blanks(end);
			if (*at++ != ':')
				return NULL;
			at = skip_blanks(at);
			if (found)
				break;
			at = skip_value(at);
			if (!at)
				return NULL;
			at = skip_blanks(at);
			if (*at++ != ',')
				return NULL;
			at = skip_blanks(at);
		}
		path++;
	}
	return at;
}

bool jp_json_find(const char *text, const char *const *path, char *value, size_t size)
{
	const char *at = find_value(text, path);

	return at && copy_string(at, value, size);
}

bool jp_json_find_number(const char *text, const char *const *path, uint64_t *value)
{
	const char *at = find_value(text, path);
	char digits[24];
	size_t length = at ? strspn(at, "0123456789") : 0;

	if (!length || length >= sizeof(digits))
		return false;
	memcpy(digits, at, length);
	digits[length] = '\0';
	return jp_number(digits, 0, UINT64_MAX, value);
}

bool jp_json_is_object(const char *text)
{
	const char *at = skip_blanks(text), *end = *at == '{' ? skip_value(at) : NULL;

	return end && !*skip_blanks(end);
}
