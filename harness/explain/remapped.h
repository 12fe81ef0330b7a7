/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/model/space/replay.h"

/*
 * Returns whether anonymous @memory of @pid replaced a file's text: the file lies on both sides and
 * would be one piece without it. Programs that want large pages copy their text so (node
 * --use-largepages). Profilers see memory without a file. @text: the file's original mapping in the
 * place of @memory.
 */
bool jp_remapped(struct jp_replay *replay, uint32_t pid, const struct jp_mapping *memory,
		 struct jp_mapping *text);
/* Returns the mapping of @pid at @addr by the file of its code: the replay's, or @text. NULL:
 * none. */
const struct jp_mapping *jp_remapped_find(struct jp_replay *replay, uint32_t pid, uint64_t addr,
					  struct jp_mapping *text);
/* Advice how a program leaves its text in place. */
extern const char jp_remapped_remedy[];
