// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/backfill.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/capture/elf_copies.h"
#include "harness/capture/session.h"
#include "harness/capture/snapshot.h"
#include "harness/capture/synthesize.h"
#include "harness/capture/threads.h"
#include "harness/format/procmaps/procmaps.h"
#include "harness/model/space/replay.h"

/*
 * Describes a process that called exec while the events were disabled, from its /proc/PID/maps,
 * when it announces itself. The records get the time at which the events were disabled. A later
 * time would place them over code that the process loaded meanwhile, and hide its names.
 * Mappings that have a record with the true time and name are not repeated. Mappings are compared,
 * not files: a file may be mapped twice and recorded once. A name keeps its suffix " (deleted)",
 * because the path without it may now be another file.
 */
struct jp_backfill {
	struct jp_replay *spaces;
};

struct jp_backfill *jp_backfill_new(struct jp_error *err)
{
	struct jp_backfill *backfill = calloc(1, sizeof(*backfill));

	if (backfill)
		backfill->spaces = jp_replay_new();
	if (backfill && backfill->spaces)
		return backfill;
	free(backfill);
	jp_fail(err, ENOMEM, "out of memory for the recorded mappings");
	return NULL;
}

void jp_backfill_free(struct jp_backfill *backfill)
{
	if (backfill)
		jp_replay_free(backfill->spaces);
	free(backfill);
}

int jp_backfill_note(void *context, const struct jp_event *event)
{
	struct jp_backfill *backfill = context;

	return jp_replay_apply(backfill->spaces, event);
}

/* Returns whether a mapping needs a record: if it is executable, except [vsyscall], which is at a
 * kernel address and for which the kernel never writes a record. */
static bool is_relevant(const struct jp_procmap *map)
{
	return (map->prot & JP_PROT_EXEC) && !(map->start >> 63);
}

/* Returns whether exactly this mapping is recorded. Ignores the offset of a mapping without a
 * file. */
static bool is_recorded(struct jp_backfill *backfill, pid_t pid, const struct jp_procmap *map)
{
	const struct jp_mapping *mapping =
		jp_replay_find(backfill->spaces, (uint32_t)pid, map->start);

	return mapping && (mapping->prot & JP_PROT_EXEC) && mapping->start == map->start &&
	       mapping->end == map->end && mapping->ino == map->ino && mapping->maj == map->maj &&
	       mapping->min == map->min && (!map->ino || mapping->pgoff == map->offset);
}

static int note_event(struct jp_backfill *backfill, struct jp_event event, pid_t pid)
{
	event.pid = event.tid = (uint32_t)pid;
	return jp_replay_apply(backfill->spaces, &event);
}

/* Writes COMM records of the process and its threads. @is_fresh: none of its mappings has a record,
 * so the process is new or called exec while the events were disabled. */
static int write_names(struct jp_session *session, struct jp_backfill *backfill, pid_t pid,
		       bool is_fresh, uint64_t time)
{
	struct jp_event event = {.type = JP_EVENT_COMM, .time = time};
	jp_cleanup_tids struct jp_tids tids = {0};
	char path[64], name[64];
	int ret = 0;

	jp_thread_name(pid, pid, name, sizeof(name));
	if (is_fresh || strcmp(name, jp_replay_comm(backfill->spaces, (uint32_t)pid)) != 0) {
		jp_synthesize_comm(session->recorder, pid, pid, name, is_fresh, time);
		event.comm.name = name;
		event.comm.exec = is_fresh;
		ret = note_event(backfill, event, pid);
	}
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	if (!ret && jp_tids_list(path, &tids))
		return 0; /* the process ended meanwhile */
	for (size_t i = 0; i < tids.count && !ret; i++) {
		if (tids.tids[i] == pid)
			continue;
		jp_thread_name(pid, tids.tids[i], name, sizeof(name));
		if (*name)
			jp_synthesize_comm(session->recorder, pid, tids.tids[i], name, false, time);
	}
	return ret;
}

static int write_map(struct jp_session *session, struct jp_backfill *backfill, pid_t pid,
		     const struct jp_procmap *map, uint64_t time)
{
	if (session->copies)
		jp_elf_copies_request(session->copies, pid, map, 0);
	jp_synthesize_map(session->recorder, pid, map, time);
	return note_event(backfill, jp_procmap_event(map, (uint32_t)pid, time), pid);
}

static int write_missing_records(struct jp_session *session, void *context, pid_t pid,
				 const struct jp_procmap *maps, size_t count, uint64_t date)
{
	struct jp_backfill *backfill = context;
	bool is_fresh = true;
	int ret;

	for (size_t i = 0; i < count && is_fresh; i++)
		is_fresh = !is_relevant(&maps[i]) || !is_recorded(backfill, pid, &maps[i]);
	ret = write_names(session, backfill, pid, is_fresh, date);
	for (size_t i = 0; i < count && !ret; i++)
		if (is_relevant(&maps[i]) && !is_recorded(backfill, pid, &maps[i]))
			ret = write_map(session, backfill, pid, &maps[i], date);
	return ret;
}

int jp_backfill_write(struct jp_session *session, struct jp_backfill *backfill, pid_t pid,
		      const struct jp_reading *reading, struct jp_error *err)
{
	return jp_reading_apply(session, pid, reading, write_missing_records, backfill, err);
}
