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
/* The numbers that are names in @path (/proc, /proc/PID/task). -ESRCH: gone. */
int jp_tids_list(const char *path, struct jp_tids *tids);
void jp_tids_free(struct jp_tids *tids);

#define jp_cleanup_tids __attribute__((cleanup(jp_tids_free)))

/* One pass: opens @stream on every listed thread that has none. *@news: threads that were found
 * and whose creation no FORK record later than @explained tells of. */
int jp_threads_open(struct jp_session *session, enum jp_stream stream, uint64_t explained,
		    unsigned int *news, struct jp_error *err);
/* Passes of open and enable until two in a row find nothing unexplained; none system-wide. */
int jp_threads_settle(struct jp_session *session, enum jp_stream stream, struct jp_error *err);
