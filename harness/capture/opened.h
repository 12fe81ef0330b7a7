/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"
#include "harness/capture/events.h"

struct jp_session;

/* One event into the ring of @cpu_index. 0, or -errno: -ESRCH where the thread is gone. */
int jp_open_event(struct jp_session *session, struct perf_event_attr *attr, enum jp_stream stream,
		  pid_t tid, unsigned int cpu_index, struct jp_error *err);
/* @stream's event on every CPU for @tid (-1: all threads). As above, all or none. */
int jp_open_thread(struct jp_session *session, enum jp_stream stream, pid_t tid,
		   struct jp_error *err);
/* Both streams' events of the command, which waits to be started. */
int jp_open_command(struct jp_session *session, struct jp_error *err);
/* Enables what was opened and is not enabled yet. */
int jp_open_enable(struct jp_session *session, enum jp_stream stream, struct jp_error *err);
/* Enables or disables all of @stream, and what inherited it. 0, or the first failure. */
int jp_open_switch(struct jp_session *session, enum jp_stream stream, bool on,
		   struct jp_error *err);
/* Adds up what they counted, and PERF_FORMAT_LOST, and closes events [@from, end). */
void jp_open_close(struct jp_session *session, size_t from);
