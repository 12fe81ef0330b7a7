// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "harness/capture/session.h"

/* A command that the session starts itself: its events are there, disabled, before it execs, and
 * exec enables them before the new image maps anything. */

static int open_events(struct jp_session *session, struct jp_error *err)
{
	int ret;

	if (session->options.system_wide)
		return jp_session_attach(session, false, true, err);
	ret = jp_open_thread(session, JP_SIDEBAND, session->target->pid, err);
	if (!ret)
		ret = jp_open_thread(session, JP_SAMPLING, session->target->pid, err);
	if (ret == -ESRCH)
		return jp_fail(err, ESRCH, "%s: killed before it started",
			       session->target->command[0]);
	session->threads = 1;
	if (!ret)
		jp_session_tell_kernel(session);
	if (!ret) {
		/* Exec enables; what comes before it is ours, not the command's. */
		session->info.enabled = jp_capture_now();
		session->first_enabled = session->info.enabled;
		jp_session_sampling(session);
	}
	return ret;
}

static int begin(struct jp_session *session, int argc, char **argv, struct jp_error *err)
{
	int channel, ret;

	if (argc > 1)
		return jp_fail(err, EINVAL, "launch: unknown option '%s'", argv[1]);
	channel = jp_start_command(session, NULL, err);
	if (channel < 0)
		return channel;
	ret = open_events(session, err) ?: jp_start_release(session, channel, err);
	jp_start_end(session, channel, ret);
	return ret;
}

static const struct jp_capture launch = {
	.name = "launch",
	.help = "a command from its first instruction on",
	.boundaries = jp_attach_boundaries,
	.launches = true,
	.begin = begin,
};
JP_REGISTER(capture, launch);
