/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/model/space/replay.h"

/*
 * Returns whether anonymous @memory of @pid replaced a part of a file's text: mappings of the file
 * lie on both sides, and @memory fills the gap between them. Programs that want large pages copy
 * their text in this way (node --use-largepages). Profilers see memory without a file. Stores in
 * @text the file's original mapping in the place of @memory.
 */
bool jp_is_remapped_text(struct jp_replay *replay, uint32_t pid, const struct jp_mapping *memory,
			 struct jp_mapping *text);
/* Returns the mapping of the file whose code is at @addr of @pid: the replay's mapping or, if
 * memory replaced the file's text, @text, in which the original mapping is stored. NULL: none. */
const struct jp_mapping *jp_remapped_find(struct jp_replay *replay, uint32_t pid, uint64_t addr,
					  struct jp_mapping *text);
/* Advice to users: how to make a program leave its text in place. */
extern const char jp_remapped_remedy[];
