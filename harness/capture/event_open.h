/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"
#include "harness/capture/events.h"

struct jp_session;

/* Opens one event into the ring of @cpu_index. Returns 0, -ESRCH if the thread has ended, or -errno
 * and a message. */
int jp_open_event(struct jp_session *session, struct perf_event_attr *attr, enum jp_stream stream,
		  pid_t tid, unsigned int cpu_index, struct jp_error *err);
/* Opens @stream's event on every CPU for @tid (-1: all threads), or on none. Returns as
 * jp_open_event(). */
int jp_open_thread(struct jp_session *session, enum jp_stream stream, pid_t tid,
		   struct jp_error *err);
/* Opens both streams' events for the command, which waits to be started. */
int jp_open_command(struct jp_session *session, struct jp_error *err);
/* Enables the events that are not yet on. */
int jp_open_enable(struct jp_session *session, enum jp_stream stream, struct jp_error *err);
/* Switches all of @stream, with inherited events. Returns 0, or the first error. */
int jp_open_switch(struct jp_session *session, enum jp_stream stream, bool on,
		   struct jp_error *err);
/* Adds the counts and PERF_FORMAT_LOST of events [@from, end), and closes them. */
void jp_open_close(struct jp_session *session, size_t from);
