/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Finds the string at @path in the JSON object @text: ("tools", "perf", NULL) finds 6.1 in
 * {"tools": {"perf": "6.1"}}. Escapes are kept. Returns false if there is none, if @text is not
 * valid JSON up to there, or if @value is too small. */
bool jp_json_find(const char *text, const char *const *path, char *value, size_t size);
/* Finds a number without sign and fraction. */
bool jp_json_find_number(const char *text, const char *const *path, uint64_t *value);
/* Returns whether @text is exactly one object, by its brackets and strings. */
bool jp_json_is_object(const char *text);
