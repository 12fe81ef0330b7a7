// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/capture/session.h"

enum {
	QUIET_PASSES = 2,
	MOST_PASSES = 100, /* a process that outruns us: `capture` says "settled no" */
};

void jp_tids_free(struct jp_tids *tids)
{
	free(tids->tids);
	*tids = (struct jp_tids){0};
}

static int add(struct jp_tids *tids, pid_t tid)
{
	if (tids->count == tids->capacity) {
		size_t capacity = tids->capacity ? tids->capacity * 2 : 64;
		pid_t *more = realloc(tids->tids, capacity * sizeof(*more));

		if (!more)
			return -ENOMEM;
		tids->tids = more;
		tids->capacity = capacity;
	}
	tids->tids[tids->count++] = tid;
	return 0;
}

int jp_tids_list(const char *path, struct jp_tids *tids)
{
	const struct dirent *entry;
	DIR *dir = opendir(path);
	int ret = 0;

	tids->count = 0;
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!ret && (entry = readdir(dir))) {
		char *end;
		long tid = strtol(entry->d_name, &end, 10);

		if (tid > 0 && !*end)
			ret = add(tids, (pid_t)tid);
	}
	closedir(dir);
	return ret;
}

static bool opened(const struct jp_session *session, enum jp_stream stream, pid_t tid)
{
	const struct jp_event_owner *life =
		jp_event_owner_find(&session->event_owners[stream], (uint64_t)tid);

	/* The first pass registers threads only when they are enabled; nobody is listed twice in
	 * one pass. */
	return life && life->owner == tid && life->until == UINT64_MAX;
}

/* Does a FORK record later than @since tell of @tid? Then an enabled event was there to inherit. */
static bool explained_by_fork(struct jp_session *session, pid_t tid, uint64_t since)
{
	const struct jp_event_owner *birth =
		jp_event_owner_find(&session->fork_times, (uint64_t)tid);

	return birth && birth->from > since;
}

int jp_threads_open(struct jp_session *session, enum jp_stream stream, uint64_t explained,
		    unsigned int *news, struct jp_error *err)
{
	struct jp_tids tids = {0};
	char path[64];
	int ret;

	*news = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", session->target->pid);
	ret = jp_tids_list(path, &tids);
	if (ret && ret != -ESRCH)
		jp_fail(err, -ret, "%s: %s%s", path, strerror(-ret),
			ret == -EMFILE ? " (each thread takes two descriptors a CPU; ulimit -n)"
				       : "");
	if (ret == -ESRCH)
		ret = 0; /* it ended: nobody is left to open */
	jp_drain_now(session);
	for (size_t i = 0; i < tids.count && !ret; i++) {
		bool known, explains;

		pthread_mutex_lock(&session->lock);
		known = opened(session, stream, tids.tids[i]);
		explains = explained_by_fork(session, tids.tids[i], explained);
		pthread_mutex_unlock(&session->lock);
		if (known)
			continue;
		/*
		 * Opened in any case: that a FORK record tells of it does not prove that it
		 * inherited (the record comes after the inheriting). What is told twice is dropped.
		 */
		ret = jp_open_thread(session, stream, tids.tids[i], err);
		if (ret == -ESRCH) {
			ret = 0; /* it ended between the listing and here */
			continue;
		}
		*news += !explains;
		session->threads += stream == JP_SIDEBAND;
	}
	jp_tids_free(&tids);
	return ret;
}

int jp_threads_settle(struct jp_session *session, enum jp_stream stream, struct jp_error *err)
{
	uint64_t enabled = jp_capture_now();
	unsigned int quiet = 0;

	for (int pass = 0; pass < MOST_PASSES && quiet < QUIET_PASSES; pass++) {
		unsigned int news;
		int ret = jp_threads_open(session, stream, enabled, &news, err);

		if (!ret)
			ret = jp_open_enable(session, stream, err);
		if (ret)
			return ret;
		enabled = jp_capture_now();
		quiet = news ? 0 : quiet + 1;
		session->thread_passes++;
	}
	session->settled &= quiet == QUIET_PASSES;
	return 0;
}
