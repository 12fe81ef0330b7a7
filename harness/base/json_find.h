/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Finds the string at @path in the JSON object @text: ("tools", "perf", NULL) finds 6.1 in
 * {"tools": {"perf": "6.1"}}. Does not decode escapes in the string. Returns false if the string
 * does not exist, if @text is not valid JSON up to it, or if @value is too small. */
bool jp_json_find(const char *text, const char *const *path, char *value, size_t size);
/* Finds a number as jp_json_find() finds a string. The number must have no sign and no fraction. */
bool jp_json_find_number(const char *text, const char *const *path, uint64_t *value);
/* Returns whether @text is exactly one object. Checks only brackets and strings. */
bool jp_json_is_object(const char *text);
