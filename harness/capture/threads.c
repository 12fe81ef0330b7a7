// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/threads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/number.h"
#include "harness/capture/drain.h"
#include "harness/capture/event_owners.h"
#include "harness/capture/event_open.h"
#include "harness/capture/recorder.h"
#include "harness/capture/session.h"

enum {
	QUIET_PASSES = 2,
	/* Maximum number of passes. A process that still creates threads after these counts as not
	 * settled. */
	MOST_PASSES = 100,
};

void jp_tids_free(struct jp_tids *tids)
{
	free(tids->tids);
	*tids = (struct jp_tids){0};
}

int jp_tids_list(const char *path, struct jp_tids *tids)
{
	jp_cleanup_closedir DIR *dir = opendir(path);
	const struct dirent *entry;

	tids->count = 0;
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while ((entry = readdir(dir))) {
		uint64_t tid;

		if (!jp_number(entry->d_name, 1, INT32_MAX, &tid))
			continue;
		if (jp_array_append(&tids->tids, &tids->count, &tids->capacity, (pid_t)tid))
			return -ENOMEM;
	}
	return 0;
}

static bool has_open_event(const struct jp_received *records, pid_t tid)
{
	const struct jp_event_owner *life =
		jp_map_find(&records->owners[JP_SIDEBAND], (uint64_t)tid);

	return life && life->owner == tid && life->closed == UINT64_MAX;
}

/* Returns whether a FORK record later than @earliest reports @tid, which means that @tid inherited
 * an enabled event. */
static bool has_fork_record(const struct jp_received *records, pid_t tid, uint64_t earliest)
{
	const uint64_t *forked = jp_map_find(&records->fork_times, (uint64_t)tid);

	return forked && *forked > earliest;
}

int jp_threads_open(struct jp_session *session, bool sample, uint64_t earliest,
		    unsigned int *unexplained, struct jp_error *err)
{
	jp_cleanup_tids struct jp_tids tids = {0};
	char path[64];
	int ret;

	*unexplained = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", session->target->pid);
	ret = jp_tids_list(path, &tids);
	if (ret && ret != -ESRCH)
		jp_fail(err, -ret, "%s: %s", path, strerror(-ret));
	if (ret == -ESRCH)
		ret = 0; /* the process ended */
	jp_drain_now(session);
	for (size_t i = 0; i < tids.count && !ret; i++) {
		bool is_known, is_explained;

		pthread_mutex_lock(&session->lock);
		is_known = has_open_event(&session->recorder->received, tids.tids[i]);
		is_explained =
			has_fork_record(&session->recorder->received, tids.tids[i], earliest);
		pthread_mutex_unlock(&session->lock);
		if (is_known)
			continue;
		/* Open the thread even if there is a FORK record: it does not prove that the thread
		 * inherited the event. Duplicate records are dropped when the rings are read. */
		ret = jp_open_watched(session, sample, tids.tids[i], err);
		if (ret == -ESRCH) {
			ret = 0; /* the thread ended */
			continue;
		}
		*unexplained += !is_explained;
		session->info.threads++;
	}
	return ret;
}

int jp_threads_open_until_complete(struct jp_session *session, bool sample, struct jp_error *err)
{
	uint64_t enabled = jp_clock_now();
	unsigned int quiet = 0;

	if (session->options.system_wide)
		return 0;
	for (int pass = 0; pass < MOST_PASSES && quiet < QUIET_PASSES; pass++) {
		unsigned int unexplained;
		int ret = jp_threads_open(session, sample, enabled, &unexplained, err)
				  ?: jp_open_enable(session, JP_SIDEBAND, err);

		if (ret)
			return ret;
		enabled = jp_clock_now();
		quiet = unexplained ? 0 : quiet + 1;
		session->info.thread_passes++;
	}
	session->info.settled &= quiet == QUIET_PASSES;
	return 0;
}
