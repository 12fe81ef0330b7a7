// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/attach.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/clock.h"
#include "harness/base/excuse.h"
#include "harness/capture/drain.h"
#include "harness/capture/event_open.h"
#include "harness/capture/probe.h"
#include "harness/capture/recording.h"
#include "harness/capture/session.h"
#include "harness/capture/snapshot.h"
#include "harness/capture/threads.h"

/* Attaches to a running process, or to all: opens all events, enables sideband, settles the list of
 * threads, reads /proc/PID/maps (the snapshot), then enables sampling. In this order no mapping,
 * process or thread is missed. */
const char *const jp_attach_boundaries[] = {
	"before-open",
	"before-enable",   /* events open, but disabled */
	"before-threads",  /* sideband enabled; before the passes over the thread list */
	"before-snapshot", /* every thread has sideband */
	"within-snapshot", /* between two read() calls on /proc/PID/maps */
	"before-sampling", /* /proc/PID/maps has been read and recorded */
	NULL,
};

static int open_all_events(struct jp_session *session, bool with_samples, struct jp_error *err)
{
	unsigned int unexplained;
	int ret;

	if (!session->options.system_wide)
		return jp_threads_open(session, with_samples, 0, &unexplained, err);
	ret = jp_open_watched(session, with_samples, -1, err);
	return ret == -ESRCH ? jp_fail(err, ESRCH, "perf_event_open: ESRCH system-wide") : ret;
}

/* Enables sideband on every thread. If @with_samples, also opens the sampling events, so that each
 * process from then on inherits both. */
static int start_sideband(struct jp_session *session, bool with_samples, struct jp_error *err)
{
	int ret = jp_session_reach_boundary(session, "before-open", err)
			  ?: open_all_events(session, with_samples, err);

	if (ret)
		return ret;
	jp_recorder_write_kernel(session);
	ret = jp_session_reach_boundary(session, "before-enable", err);
	/* The first event may record something before the last event is enabled. */
	session->info.first_enabled = jp_clock_now();
	ret = ret ?: jp_open_enable(session, JP_SIDEBAND, err)
		  ?: jp_session_reach_boundary(session, "before-threads", err)
		  ?: jp_threads_open_until_complete(session, with_samples, err);
	session->info.enabled = jp_clock_now();
	return ret;
}

int jp_attach(struct jp_session *session, bool snapshot_first, bool sample, struct jp_error *err)
{
	int ret = 0;

	if (session->target->pid > 0)
		jp_drain_watch(session, session->target->pid);
	if (snapshot_first) {
		/* A deliberate error: until the events are on, new mappings have no record. */
		snprintf(session->info.order, sizeof(session->info.order), "snapshot-first");
		ret = jp_snapshot_take(session, err);
	}
	ret = ret ?: start_sideband(session, sample, err)
		  ?: jp_session_reach_boundary(session, "before-snapshot", err);
	if (!ret && !snapshot_first)
		ret = jp_snapshot_take(session, err);
	ret = ret ?: jp_session_reach_boundary(session, "before-sampling", err);
	if (ret || !sample)
		return ret;
	ret = jp_open_enable(session, JP_SAMPLING, err);
	if (!ret)
		jp_recorder_note_sampling(session);
	return ret;
}

/* Parses [--order=enable-first|snapshot-first] and attaches. */
static int begin(struct jp_session *session, int argc, char **argv, struct jp_error *err)
{
	bool snapshot_first = false;

	for (int i = 1; i < argc; i++) {
		snapshot_first = strcmp(argv[i], "--order=snapshot-first") == 0;
		if (!snapshot_first && strcmp(argv[i], "--order=enable-first") != 0)
			return jp_fail(
				err, EINVAL,
				"attach: unknown option '%s'; expected --order=enable-first or "
				"--order=snapshot-first",
				argv[i]);
	}
	return jp_recorder_begin(session, false, err)
		       ?: jp_attach(session, snapshot_first, true, err);
}

JP_DEFINE(capture, attach) = {
	.name = "attach",
	.boundaries = jp_attach_boundaries,
	.traits = JP_CAPTURE_PLAIN,
	.probe = jp_probe_clock,
	.begin = begin,
	.stop = jp_recorder_stop,
	.finish = jp_recorder_finish,
	.free = jp_recorder_free,
};

static const struct jp_excuse excuses[] = {
	{"attach.children", NULL,
	 "processes.unseen processes.nameless threads.nameless coverage.missing coverage.late "
	 "mappings.missing files.missing files.credited broken.* load.unnamed names.unnamed "
	 "cpu.samples acts.records exit.missing fork.missing",
	 "not-watched", NULL, "an attach watches one process and what it starts from then on"},
};
JP_REGISTER_ROWS(excuse, excuses);
