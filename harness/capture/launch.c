// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "harness/capture/event_open.h"
#include "harness/capture/recording.h"
#include "harness/capture/attach.h"
#include "harness/capture/probe.h"
#include "harness/capture/session.h"
#include "harness/capture/start.h"

/* A capture that records a command from its first instruction: the events are opened before the
 * command's exec, which enables them before the new image maps anything. */

static int open_events(struct jp_session *session, struct jp_error *err)
{
	if (session->options.system_wide)
		return jp_attach(session, false, true, err);
	/* The exec enables the events: actions before it are those of this program's child, not of
	 * the command. */
	return jp_open_command(session, err) ?: jp_recorder_note_enabled(session);
}

static int begin(struct jp_session *session, int argc, char **argv, struct jp_error *err)
{
	if (argc > 1)
		return jp_fail(err, EINVAL, "launch: unknown option '%s'", argv[1]);
	return jp_recorder_begin(session, !session->options.system_wide, err)
		       ?: jp_start_command(session, NULL, open_events, err);
}

JP_DEFINE(capture, launch) = {
	.name = "launch",
	.traits = JP_CAPTURE_LAUNCHES | JP_CAPTURE_PLAIN,
	.probe = jp_probe_clock,
	.begin = begin,
	.stop = jp_recorder_stop,
	.finish = jp_recorder_finish,
	.free = jp_recorder_free,
};
