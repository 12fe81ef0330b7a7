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
/* Lists the numbers that are names in @path (/proc, /proc/PID/task). Returns 0 or -errno; -ESRCH:
 * the process has ended. */
int jp_tids_list(const char *path, struct jp_tids *tids);
void jp_tids_free(struct jp_tids *tids);

#define jp_cleanup_tids __attribute__((cleanup(jp_tids_free)))

/* Opens @stream on every listed thread without events, in one pass. *@news: number of new threads
 * without a FORK record later than @explained. */
int jp_threads_open(struct jp_session *session, enum jp_stream stream, uint64_t explained,
		    unsigned int *news, struct jp_error *err);
/* Repeats passes of opening and enabling until two in a row find nothing unexplained; none
 * system-wide. */
int jp_threads_settle(struct jp_session *session, enum jp_stream stream, struct jp_error *err);
