// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/rundir/snapshots.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/sort.h"
#include "harness/format/truth/format.h"

/* Parses one snapshot at *@text, and moves *@text to the next one. */
static int parse_snapshot(struct jp_snapshots *snapshots, const char *name, const char **text,
			  const char *start, const char *end, struct jp_error *err)
{
	struct jp_snapshot *snapshot =
		jp_array_push(&snapshots->list, &snapshots->count, &snapshots->capacity);
	const char *body = memchr(*text, '\n', end - *text), *next;
	struct jp_error inner;
	int head = 0;

	if (!snapshot)
		return jp_fail(err, ENOMEM, "%s: out of memory", name);
	if (!body ||
	    sscanf(*text, "# pid %" SCNu32 " before %" SCNu64 " after %" SCNu64 "%n",
		   &snapshot->pid, &snapshot->before, &snapshot->after, &head) != 3 ||
	    *text + head != body)
		return jp_fail(err, EINVAL,
			       "%s: expected \"# pid P before NS after NS\" at offset %zu", name,
			       (size_t)(*text - start));
	body++;
	for (next = body; next < end && *next != '#'; next++) {
		next = memchr(next, '\n', end - next);
		if (!next)
			next = end - 1;
	}
	if (jp_procmaps_parse(body, next - body, &snapshot->maps, &snapshot->count, &inner))
		return jp_fail(err, EINVAL, "%s, pid %u: %s", name, snapshot->pid, inner.text);
	*text = next;
	return 0;
}

JP_ORDER(compare_by_time, struct jp_snapshot,
	 jp_compare(a->before, b->before)
		 ?: jp_compare(a->after, b->after)
		 ?: jp_compare(a->pid, b->pid));

int jp_snapshots_parse(struct jp_snapshots *snapshots, const char *name, const char *text,
		       size_t size, struct jp_error *err)
{
	const char *pos = text;
	int failed = 0;

	while (!failed && pos < text + size)
		failed = parse_snapshot(snapshots, name, &pos, text, text + size, err);
	/* Sort by time, so that the first snapshot of a process is its earliest. */
	jp_sort(snapshots->list, snapshots->count, compare_by_time);
	return failed;
}

void jp_snapshots_free(struct jp_snapshots *snapshots)
{
	for (size_t i = 0; i < snapshots->count; i++)
		free(snapshots->list[i].maps);
	free(snapshots->list);
	*snapshots = (struct jp_snapshots){0};
}

const struct jp_snapshot *jp_snapshots_find(const struct jp_snapshots *snapshots, uint32_t pid)
{
	for (size_t i = 0; i < snapshots->count; i++)
		if (snapshots->list[i].pid == pid)
			return &snapshots->list[i];
	return NULL;
}

bool jp_snapshots_cover_time(const struct jp_snapshots *snapshots, uint32_t pid, uint64_t time)
{
	for (size_t i = 0; i < snapshots->count; i++)
		if (snapshots->list[i].pid == pid && time >= snapshots->list[i].before &&
		    time <= snapshots->list[i].after)
			return true;
	return false;
}

const struct jp_procmap *jp_snapshot_executable(const struct jp_snapshot *snapshot, uint64_t addr)
{
	for (size_t i = 0; i < snapshot->count; i++)
		if (snapshot->maps[i].prot & JP_PROT_EXEC && addr >= snapshot->maps[i].start &&
		    addr < snapshot->maps[i].end)
			return &snapshot->maps[i];
	return NULL;
}
