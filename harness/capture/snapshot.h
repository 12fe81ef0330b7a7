/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"

struct jp_procmap;
struct jp_session;

struct jp_reading { /* of one /proc/PID/maps */
	char *bytes;
	size_t size, capacity;
	uint64_t before, after;
};
/* Reads until two readings agree: mremap has no record, so a move during a reading would stay
 * unknown. The caller frees @reading->bytes in any case. @within_done false: the boundary
 * "within-snapshot" is still to come. */
int jp_snapshot_read(struct jp_session *session, pid_t pid, bool *within_done,
		     struct jp_reading *reading, struct jp_error *err);
/* Calls @tell(@context) (0 or -ENOMEM) to write the records of a reading, at the time before it,
 * with the session locked. */
typedef int (*jp_reading_teller)(struct jp_session *session, void *context, pid_t pid,
				 const struct jp_procmap *maps, size_t count, uint64_t before);
int jp_reading_tell(struct jp_session *session, pid_t pid, const struct jp_reading *reading,
		    jp_reading_teller tell, void *context, struct jp_error *err);
/* Lets the files in the reading be copied, if the session copies files. */
int jp_reading_want_files(struct jp_session *session, pid_t pid, const struct jp_reading *reading,
			  struct jp_error *err);
/* Appends the reading to DIR/maps. */
int jp_snapshot_keep(struct jp_session *session, pid_t pid, const struct jp_reading *reading,
		     struct jp_error *err);
/* Reads, records and keeps the maps of all watched processes. */
int jp_snapshot_take(struct jp_session *session, struct jp_error *err);
/* Writes an empty DIR/maps: a launch takes no snapshot. */
int jp_snapshot_file(const char *dir, struct jp_error *err);
/* Stores the name of thread @tid of @pid. Returns false, with "", if it ended. */
bool jp_thread_name(pid_t pid, pid_t tid, char *name, size_t size);
