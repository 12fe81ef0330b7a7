/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <sys/types.h>

#include "harness/base/error.h"

struct jp_backfill;
struct jp_event;
struct jp_reading;
struct jp_session;

/* Creates the state that finds a process's records missed while the events are disabled. Returns
 * NULL and a message if out of memory. */
struct jp_backfill *jp_backfill_new(struct jp_error *err);
void jp_backfill_free(struct jp_backfill *backfill);
/* Notes a recorded sideband event; called under the session's lock. Returns 0 or -ENOMEM. */
int jp_backfill_note(void *backfill, const struct jp_event *event);
/* Writes records of the mappings and names of @pid in @reading that no record reports, with its
 * date. jp_backfill_note() must have received all earlier records. Returns 0, or -errno and a
 * message. */
int jp_backfill_write(struct jp_session *session, struct jp_backfill *backfill, pid_t pid,
		      const struct jp_reading *reading, struct jp_error *err);
