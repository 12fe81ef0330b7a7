/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"
#include "harness/capture/events.h"

struct jp_session;

struct jp_tids {
	pid_t *tids;
	size_t count, capacity;
};
/* Lists the numeric names in @path (/proc, /proc/PID/task). Returns 0, -ESRCH if the process has
 * ended, or -errno. */
int jp_tids_list(const char *path, struct jp_tids *tids);
void jp_tids_free(struct jp_tids *tids);

#define jp_cleanup_tids __attribute__((cleanup(jp_tids_free)))

/* Opens @stream on every listed thread without events, in one pass. Stores in *@unexplained the
 * number of new threads without a FORK record later than @since. */
int jp_threads_open(struct jp_session *session, enum jp_stream stream, uint64_t since,
		    unsigned int *unexplained, struct jp_error *err);
/* Repeats passes of opening and enabling until two in a row find no unexplained thread; makes none
 * system-wide. */
int jp_threads_settle(struct jp_session *session, enum jp_stream stream, struct jp_error *err);
