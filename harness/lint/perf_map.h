/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/lint/rule.h"

/* Parses the perf map @map->file.path. Returns 0, or -errno and a message if it is unreadable. */
int jp_lint_map_read(struct jp_lint_map *map, struct jp_error *err);
void jp_lint_map_free(struct jp_lint_map *map);
