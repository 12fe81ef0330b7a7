/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <sys/types.h>

#include "harness/base/error.h"

struct jp_backfill;
struct jp_event;
struct jp_reading;
struct jp_session;

/* Creates the state that finds the mappings and names of a process for which the kernel wrote no
 * record, because the events were disabled. Returns NULL and a message if out of memory. */
struct jp_backfill *jp_backfill_new(struct jp_error *err);
void jp_backfill_free(struct jp_backfill *backfill);
/* Notes a recorded sideband event; @backfill: a struct jp_backfill. The session must be locked.
 * Returns 0 or -ENOMEM. */
int jp_backfill_note(void *backfill, const struct jp_event *event);
/* Writes records of the mappings in @reading and of the names of @pid that no earlier record
 * reports, with the time @reading->date. jp_backfill_note() must have received all earlier records.
 * Returns 0, or -errno and a message. */
int jp_backfill_write(struct jp_session *session, struct jp_backfill *backfill, pid_t pid,
		      const struct jp_reading *reading, struct jp_error *err);
