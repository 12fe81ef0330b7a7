/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/base/error.h"
#include "harness/format/procmaps/procmaps.h"

/* The file `maps` of a run directory: contents of /proc/PID/maps as the capture read them, each
 * after a line with the times. */
struct jp_snapshot {
	uint32_t pid;
	uint64_t before, after; /* times in ns before and after the file was read */
	struct jp_procmap *maps;
	size_t count;
};

struct jp_snapshots {
	struct jp_snapshot *list;
	size_t count, capacity;
};

/* Parses @text, and sorts the snapshots by time; messages use @name. On errors @snapshots contains
 * what was parsed before the error. Returns 0, or -errno and a message. */
int jp_snapshots_parse(struct jp_snapshots *snapshots, const char *name, const char *text,
		       size_t size, struct jp_error *err);
void jp_snapshots_free(struct jp_snapshots *snapshots);
/* Returns the first snapshot of @pid, or NULL. */
const struct jp_snapshot *jp_snapshots_find(const struct jp_snapshots *snapshots, uint32_t pid);
/* Returns whether the capture was reading a snapshot of @pid at @time: records that it made from
 * the snapshot may have that time. */
bool jp_snapshots_cover_time(const struct jp_snapshots *snapshots, uint32_t pid, uint64_t time);
/* Returns the executable entry of @snapshot that contains @addr, or NULL. */
const struct jp_procmap *jp_snapshot_executable(const struct jp_snapshot *snapshot, uint64_t addr);
