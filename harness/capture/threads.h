/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"

struct jp_session;

struct jp_tids {
	pid_t *tids;
	size_t count, capacity;
};
/* Stores the numbers in the folder @path (/proc or /proc/PID/task) in @tids. Returns 0, -ESRCH if
 * the process has ended, or -errno. */
int jp_tids_list(const char *path, struct jp_tids *tids);
void jp_tids_free(struct jp_tids *tids);

#define jp_cleanup_tids __attribute__((cleanup(jp_tids_free)))

/* Opens the events of each thread of the target that has none, as jp_open_watched(), in one pass
 * over /proc/PID/task. Stores in *@unexplained the number of such threads without a FORK record
 * later than @earliest. */
int jp_threads_open(struct jp_session *session, bool sample, uint64_t earliest,
		    unsigned int *unexplained, struct jp_error *err);
/* Repeats passes of jp_threads_open() and enabling sideband until two passes in a row find no
 * thread that a FORK record does not explain. Does nothing system-wide. */
int jp_threads_open_until_complete(struct jp_session *session, bool sample, struct jp_error *err);
