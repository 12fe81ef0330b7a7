/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Writes JSON as a stream. A value at the top level is one line, so that several make a JSON-lines
 * file:
 *
 * jp_json_begin(&json, out); jp_json_object(&json, NULL); jp_json_u64(&json, "samples", 2000);
 * jp_json_array(&json, "expect"); jp_json_double(&json, NULL, 0.5); jp_json_end(&json);
 * jp_json_end(&json);
 *
 * @key is NULL at the top level and inside arrays. ferror() of the stream reports write errors.
 */
struct jp_json {
	FILE *out;
	int depth;
	bool first;      /* the open object or array is empty */
	uint64_t arrays; /* bit i is set if the value open at depth i is an array, not an object */
};

void jp_json_begin(struct jp_json *json, FILE *out);
/* Opens an object; at most 64 levels. */
void jp_json_object(struct jp_json *json, const char *key);
void jp_json_array(struct jp_json *json, const char *key);
/* Closes the innermost object or array; closing the outermost ends the line. */
void jp_json_end(struct jp_json *json);
/* Writes a string. Each byte that is not UTF-8 becomes U+FFFD; NULL becomes null. */
void jp_json_string(struct jp_json *json, const char *key, const char *text);
void jp_json_u64(struct jp_json *json, const char *key, uint64_t value);
/* Writes the shortest text that reads back as @value; an infinite value or NaN becomes null. */
void jp_json_double(struct jp_json *json, const char *key, double value);
void jp_json_bool(struct jp_json *json, const char *key, bool value);

/* Finds the string at @path in the JSON object @text: ("tools", "perf", NULL) finds 6.1 in
 * {"tools": {"perf": "6.1"}}. Does not decode escapes in the string. Returns false if the string
 * does not exist, if @text is not valid JSON up to it, or if @value is too small. */
bool jp_json_find(const char *text, const char *const *path, char *value, size_t size);
/* Finds a number as jp_json_find() finds a string. The number must have no sign and no fraction. */
bool jp_json_find_number(const char *text, const char *const *path, uint64_t *value);
/* Returns whether @text is exactly one object. Checks only brackets and strings. */
bool jp_json_is_object(const char *text);
