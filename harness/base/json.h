/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Writes JSON as it goes; nothing is kept. One value at the top level is one line, so that several
 * make a JSON-lines file:
 *
 *	jp_json_begin(&json, out);
 *	jp_json_object(&json, NULL);
 *	jp_json_u64(&json, "samples", 2000);
 *	jp_json_array(&json, "expect");
 *	jp_json_double(&json, NULL, 0.5);
 *	jp_json_end(&json);
 *	jp_json_end(&json);
 *
 * @key is NULL at the top level and inside arrays. Write errors stay with @out (ferror).
 */
struct jp_json {
	FILE *out;
	int depth;
	bool first;      /* nothing written yet in the open object or array */
	uint64_t arrays; /* bit i: what opened at depth i is an array */
};

void jp_json_begin(struct jp_json *json, FILE *out);
/* At most 64 deep. */
void jp_json_object(struct jp_json *json, const char *key);
void jp_json_array(struct jp_json *json, const char *key);
/* Closes the innermost open object or array; the outermost one ends the line. */
void jp_json_end(struct jp_json *json);
/* Bytes that are not UTF-8 become U+FFFD, one each; a NULL @text is null. */
void jp_json_string(struct jp_json *json, const char *key, const char *text);
void jp_json_u64(struct jp_json *json, const char *key, uint64_t value);
/* The shortest text that reads back as @value; what is not finite is null. */
void jp_json_double(struct jp_json *json, const char *key, double value);
void jp_json_bool(struct jp_json *json, const char *key, bool value);
