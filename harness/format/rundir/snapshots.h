/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/base/error.h"
#include "harness/format/procmaps/procmaps.h"

/* The file `maps`: /proc/PID/maps as the capture read them, each below a line that says when. */
struct jp_snapshot {
	uint32_t pid;
	uint64_t before, after; /* ns around the reads */
	struct jp_procmap *maps;
	size_t count;
};

struct jp_snapshots {
	struct jp_snapshot *list;
	size_t count, capacity;
};

/* @name stands in messages. What was read so far is in @snapshots even where it fails, by time,
 * whatever the file's order. */
int jp_snapshots_parse(struct jp_snapshots *snapshots, const char *name, const char *text,
		       size_t size, struct jp_error *err);
void jp_snapshots_free(struct jp_snapshots *snapshots);
/* The first one of @pid, or NULL. */
const struct jp_snapshot *jp_snapshots_of(const struct jp_snapshots *snapshots, uint32_t pid);
/* Whether one of @pid was being read at @time: records that are made of it may have that time. */
bool jp_snapshots_within(const struct jp_snapshots *snapshots, uint32_t pid, uint64_t time);
/* The executable entry of @snapshot that holds @addr, or NULL. */
const struct jp_procmap *jp_snapshot_executable(const struct jp_snapshot *snapshot, uint64_t addr);
