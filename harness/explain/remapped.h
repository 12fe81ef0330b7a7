/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/model/space/replay.h"

/*
 * Whether anonymous @memory of @pid took the place of a file's text: the file lies on both sides,
 * as one piece without it. Programs that want large pages copy their text so (node
 * --use-largepages). Profilers see memory without a file. @text: the file's mapping as it was,
 * where @memory lies.
 */
bool jp_remapped(struct jp_replay *replay, uint32_t pid, const struct jp_mapping *memory,
		 struct jp_mapping *text);
/* The mapping of @pid that covers @addr, as of the file whose code it holds: that of the replay, or
 * @text. NULL: there is none. */
const struct jp_mapping *jp_remapped_find(struct jp_replay *replay, uint32_t pid, uint64_t addr,
					  struct jp_mapping *text);
/* How a program leaves its text where it is. */
extern const char jp_remapped_remedy[];
