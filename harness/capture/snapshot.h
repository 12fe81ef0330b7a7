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
/*
 * Reads until two readings agree: mremap is never reported, so what moved while a reading went by
 * is found by nobody else. The caller frees @reading->bytes, whatever the result.
 * @within_done false: "within-snapshot" is still to be told.
 */
int jp_snapshot_read(struct jp_session *session, pid_t pid, bool *within_done,
		     struct jp_reading *reading, struct jp_error *err);
/* Has the records of what it holds written by @tell(@context) (0 or -ENOMEM), at the time before
 * it, with the session locked. */
typedef int (*jp_reading_teller)(struct jp_session *session, void *context, pid_t pid,
				 const struct jp_procmap *maps, size_t count, uint64_t before);
int jp_reading_tell(struct jp_session *session, pid_t pid, const struct jp_reading *reading,
		    jp_reading_teller tell, void *context, struct jp_error *err);
/* Has the files of what it holds copied, where the session copies files. */
int jp_reading_want_files(struct jp_session *session, pid_t pid, const struct jp_reading *reading,
			  struct jp_error *err);
/* Appends it to DIR/maps. */
int jp_snapshot_keep(struct jp_session *session, pid_t pid, const struct jp_reading *reading,
		     struct jp_error *err);
/* Of all that is watched: reads, tells and keeps. */
int jp_snapshot_take(struct jp_session *session, struct jp_error *err);
/* An empty DIR/maps: a launch takes no snapshot. */
int jp_snapshot_file(const char *dir, struct jp_error *err);
/* The name of thread @tid of @pid; false, and "", where it ended. */
bool jp_thread_name(pid_t pid, pid_t tid, char *name, size_t size);
