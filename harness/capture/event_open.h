/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "harness/base/error.h"
#include "harness/capture/events.h"

struct jp_session;

/* Opens an event of thread @tid whose records go to the ring of @stream on the CPU @cpu_index.
 * Returns 0, -ESRCH if the thread has ended, or -errno and a message. */
int jp_open_event(struct jp_session *session, struct perf_event_attr *attr, enum jp_stream stream,
		  pid_t tid, unsigned int cpu_index, struct jp_error *err);
/* Opens the sideband events of @tid (-1: all threads) on every CPU and, if @sample, its sampling
 * events behind them: all, or none on failure. A process that the thread forks in between has
 * sideband without samples, and is older than info.enabled. Returns as jp_open_event(). */
int jp_open_watched(struct jp_session *session, bool sample, pid_t tid, struct jp_error *err);
/* Opens sampling and sideband events for the launched command, which still waits before its
 * exec. */
int jp_open_command(struct jp_session *session, struct jp_error *err);
/* Enables the events of @stream that are not enabled yet. */
int jp_open_enable(struct jp_session *session, enum jp_stream stream, struct jp_error *err);
/* Switches all events of @stream on or off, including those that children inherited. Returns 0, or
 * the first error. */
int jp_open_switch(struct jp_session *session, enum jp_stream stream, bool enable,
		   struct jp_error *err);
/* Closes the session's events from index @first_index on, after adding their counts and
 * PERF_FORMAT_LOST to the session's totals. */
void jp_open_close(struct jp_session *session, size_t first_index);
