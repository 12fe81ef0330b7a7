// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/number.h"
#include "harness/base/printable.h"

/* Returns the length up to a byte that needs escaping or checking. */
static size_t count_unescaped_bytes(const unsigned char *s)
{
	size_t length = 0;

	while (s[length] >= 0x20 && s[length] < 0x7f && s[length] != '"' && s[length] != '\\')
		length++;
	return length;
}

static void put_string(FILE *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	putc('"', out);
	while (*s) {
		size_t nr_plain = count_unescaped_bytes(s);
		unsigned int length;

		if (nr_plain) {
			fwrite_unlocked(s, 1, nr_plain, out);
			s += nr_plain;
			continue;
		}
		length = jp_utf8_length(s);
		if (!length) {
			fputs("\\ufffd", out);
			s++;
			continue;
		}
		if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else if (*s == '\n')
			fputs("\\n", out);
		else if (!jp_printable_length((const char *)s))
			fprintf(out, "\\u%04x", jp_utf8_code(s, length));
		else
			fwrite(s, 1, length, out);
		s += length;
	}
	putc('"', out);
}

static void begin_value(struct jp_json *json, const char *key)
{
	if (!json->first)
		fputs(", ", json->out);
	json->first = false;
	if (key) {
		put_string(json->out, key);
		fputs(": ", json->out);
	}
}

static void end_value(struct jp_json *json)
{
	if (json->depth)
		return;
	putc('\n', json->out);
	json->first = true;
}

void jp_json_begin(struct jp_json *json, FILE *out)
{
	*json = (struct jp_json){.out = out, .first = true};
}

static void open_value(struct jp_json *json, const char *key, bool array)
{
	assert(json->depth < 64);
	begin_value(json, key);
	putc(array ? '[' : '{', json->out);
	json->arrays &= ~(UINT64_C(1) << json->depth);
	json->arrays |= (uint64_t)array << json->depth;
	json->depth++;
	json->first = true;
}

void jp_json_object(struct jp_json *json, const char *key)
{
	open_value(json, key, false);
}

void jp_json_array(struct jp_json *json, const char *key)
{
	open_value(json, key, true);
}

void jp_json_end(struct jp_json *json)
{
	assert(json->depth > 0);
	json->depth--;
	putc(json->arrays >> json->depth & 1 ? ']' : '}', json->out);
	json->first = false;
	end_value(json);
}

void jp_json_string(struct jp_json *json, const char *key, const char *text)
{
	begin_value(json, key);
	if (text)
		put_string(json->out, text);
	else
		fputs("null", json->out);
	end_value(json);
}

void jp_json_u64(struct jp_json *json, const char *key, uint64_t value)
{
	begin_value(json, key);
	fprintf(json->out, "%" PRIu64, value);
	end_value(json);
}

void jp_json_double(struct jp_json *json, const char *key, double value)
{
	char text[40];

	begin_value(json, key);
	if (!isfinite(value)) {
		fputs("null", json->out);
	} else {
		for (int digits = 1; digits <= 17; digits++) {
			snprintf(text, sizeof(text), "%.*g", digits, value);
			if (strtod(text, NULL) == value)
				break;
		}
		fputs(text, json->out);
	}
	end_value(json);
}

void jp_json_bool(struct jp_json *json, const char *key, bool value)
{
	begin_value(json, key);
	fputs(value ? "true" : "false", json->out);
	end_value(json);
}

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
