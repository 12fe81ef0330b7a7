/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The string at @path in the JSON object @text: ("tools", "perf", NULL) finds 6.1 in
 * {"tools": {"perf": "6.1"}}. Escapes stay as they are. False where there is none, where @text is
 * no JSON up to there, or where @value has no room for it.
 */
bool jp_json_find(const char *text, const char *const *path, char *value, size_t size);
/* The same of a number without sign and fraction. */
bool jp_json_find_number(const char *text, const char *const *path, uint64_t *value);
/* Whether @text is one object and nothing else; of what is in it brackets and strings are seen. */
bool jp_json_is_object(const char *text);
