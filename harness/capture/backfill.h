/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <sys/types.h>

#include "harness/base/error.h"

struct jp_backfill;
struct jp_event;
struct jp_reading;
struct jp_session;

/* What a capture does not know of a process, because its events were disabled. */
struct jp_backfill *jp_backfill_new(struct jp_error *err);
void jp_backfill_free(struct jp_backfill *backfill);
/* Is told each sideband event that is kept, under the session's lock. 0 or -ENOMEM. */
int jp_backfill_saw(void *backfill, const struct jp_event *event);
/* Writes records of what @reading of @pid shows and nobody recorded, with its time. Everything that
 * was recorded before that was told to jp_backfill_saw(). */
int jp_backfill_write(struct jp_session *session, struct jp_backfill *backfill, pid_t pid,
		      const struct jp_reading *reading, struct jp_error *err);
