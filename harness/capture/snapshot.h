/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"

struct jp_procmap;
struct jp_session;

struct jp_reading { /* The content of /proc/PID/maps at one time. */
	char *bytes;
	size_t size, capacity;
	uint64_t before, after;
	uint64_t date; /* the time given to records that are made from it */
};
/* Reads /proc/PID/maps until two successive readings agree: mremap() causes no record, so a mapping
 * that moved during a single reading would be missed. *@within_done: whether the boundary
 * "within-snapshot" has passed. Returns 0, or -errno and a message; the caller frees
 * @reading->bytes in any case. */
int jp_snapshot_read(struct jp_session *session, pid_t pid, bool *within_done,
		     struct jp_reading *reading, struct jp_error *err);
/* Parses @reading, and calls @visit with the session locked, with @context, the mappings and
 * @reading->date; @visit returns 0 or -ENOMEM. Returns 0, or -errno and a message. */
typedef int (*jp_reading_visit)(struct jp_session *session, void *context, pid_t pid,
				const struct jp_procmap *maps, size_t count, uint64_t date);
int jp_reading_apply(struct jp_session *session, pid_t pid, const struct jp_reading *reading,
		     jp_reading_visit visit, void *context, struct jp_error *err);
/* Queues the files of executable mappings in @reading for copying, if the session copies files. */
int jp_reading_want_files(struct jp_session *session, pid_t pid, const struct jp_reading *reading,
			  struct jp_error *err);
/* Appends @reading to DIR/maps. */
int jp_snapshot_keep(struct jp_session *session, pid_t pid, const struct jp_reading *reading,
		     struct jp_error *err);
/* Reads /proc/PID/maps of all watched processes, writes records of the mappings, and appends the
 * maps to DIR/maps. */
int jp_snapshot_take(struct jp_session *session, struct jp_error *err);
/* Writes an empty DIR/maps: a launch takes no snapshot. */
int jp_snapshot_write_empty(const char *dir, struct jp_error *err);
/* Stores the name of thread @tid of @pid. Returns false and stores "" if the thread has exited. */
bool jp_thread_name(pid_t pid, pid_t tid, char *name, size_t size);
