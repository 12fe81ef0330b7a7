// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/json_find.h"

#include <string.h>

#include "harness/base/number.h"

enum { MAX_DEPTH = 64 };

static const char *skip_blanks(const char *pos)
{
	return pos + strspn(pos, " \t\r\n");
}

/* Returns the position after the string at @pos, or NULL if there is none. */
static const char *skip_string(const char *pos)
{
	if (*pos++ != '"')
		return NULL;
	for (; *pos && *pos != '"'; pos++)
		if (*pos == '\\' && !*++pos)
			return NULL;
	return *pos ? pos + 1 : NULL;
}

/* Returns the position after the value at @pos, or NULL if there is none. Only counts brackets and
 * skips strings. */
static const char *skip_value(const char *pos)
{
	int depth = 0;

	do {
		pos = skip_blanks(pos);
		if (*pos == '"') {
			pos = skip_string(pos);
			if (!pos)
				return NULL;
		} else if (*pos == '{' || *pos == '[') {
			if (++depth > MAX_DEPTH)
				return NULL;
			pos++;
		} else if (*pos == '}' || *pos == ']') {
			depth--;
			pos++;
		} else if (depth && (*pos == ',' || *pos == ':')) {
			pos++;
		} else {
			size_t length = strcspn(pos, " \t\r\n,:[]{}\"");

			if (!length)
				return NULL;
			pos += length;
		}
	} while (depth > 0);
	return depth ? NULL : pos;
}

static bool copy_string(const char *pos, char *value, size_t size)
{
	const char *end = skip_string(pos);
	size_t length = end ? (size_t)(end - pos) - 2 : 0;

	if (!end || length >= size)
		return false;
	memcpy(value, pos + 1, length);
	value[length] = '\0';
	return true;
}

static const char *find_value(const char *text, const char *const *path)
{
	const char *pos = skip_blanks(text);

	while (*path) {
		const char *end;
		size_t length = strlen(*path);

		if (*pos != '{')
			return NULL;
		pos = skip_blanks(pos + 1);
		for (;;) {
			bool has_key;

			end = skip_string(pos);
			if (!end)
				return NULL;
			has_key = (size_t)(end - pos) == length + 2 &&
				  strncmp(pos + 1, *path, length) == 0;
			pos = skip_blanks(end);
			if (*pos++ != ':')
				return NULL;
			pos = skip_blanks(pos);
			if (has_key)
				break;
			pos = skip_value(pos);
			if (!pos)
				return NULL;
			pos = skip_blanks(pos);
			if (*pos++ != ',')
				return NULL;
			pos = skip_blanks(pos);
		}
		path++;
	}
	return pos;
}

bool jp_json_find(const char *text, const char *const *path, char *value, size_t size)
{
	const char *pos = find_value(text, path);

	return pos && copy_string(pos, value, size);
}

bool jp_json_find_number(const char *text, const char *const *path, uint64_t *value)
{
	const char *pos = find_value(text, path);
	char digits[24];
	size_t length = pos ? strspn(pos, "0123456789") : 0;

	if (!length || length >= sizeof(digits))
		return false;
	memcpy(digits, pos, length);
	digits[length] = '\0';
	return jp_number(digits, 0, UINT64_MAX, value);
}

bool jp_json_is_object(const char *text)
{
	const char *pos = skip_blanks(text), *end = *pos == '{' ? skip_value(pos) : NULL;

	return end && !*skip_blanks(end);
}
