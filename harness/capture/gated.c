// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>

#include "harness/capture/session.h"

/*
 * What benchmark runners do: the runner is launched with events that all its processes inherit, and
 * samples are taken in the intervals alone that those announce.
 */
static int take_policy(int argc, char **argv, enum jp_gate_policy *policy, struct jp_error *err)
{
	*policy = JP_GATE_SIDEBAND;
	for (int i = 1; i < argc; i++) {
		unsigned int found = 0;

		while (found <= JP_GATE_SIDEBAND && (strncmp(argv[i], "--gate=", 7) != 0 ||
						     strcmp(argv[i] + 7, jp_gate_text(found)) != 0))
			found++;
		if (found > JP_GATE_SIDEBAND)
			return jp_fail(err, EINVAL,
				       "gated: '%s': --gate=none, backfill or sideband was "
				       "expected",
				       argv[i]);
		*policy = found;
	}
	return 0;
}

static int open_events(struct jp_session *session, enum jp_gate_policy policy, struct jp_error *err)
{
	int ret = jp_open_thread(session, JP_SIDEBAND, session->target->pid, err);

	if (!ret)
		ret = jp_open_thread(session, JP_SAMPLING, session->target->pid, err);
	if (ret == -ESRCH)
		return jp_fail(err, ESRCH, "%s: killed before it started",
			       session->target->command[0]);
	if (!ret && policy == JP_GATE_SIDEBAND)
		ret = jp_open_switch(session, JP_SIDEBAND, true, err);
	if (ret)
		return ret;
	session->threads = 1;
	jp_session_tell_kernel(session);
	session->info.enabled = session->first_enabled = jp_capture_now();
	jp_session_sampling(session);
	return 0;
}

static int prepare(struct jp_session *session, enum jp_gate_policy policy, struct jp_error *err)
{
	if (session->options.system_wide || !session->dir)
		return jp_fail(err, EINVAL, "gated: watches what it starts, for a run directory");
	session->worker_wake = eventfd(0, EFD_CLOEXEC);
	if (session->worker_wake < 0)
		return jp_fail(err, errno, "eventfd: %s", strerror(errno));
	session->gate = jp_gate_new(session, policy, err);
	if (!session->gate)
		return -EIO;
	if (policy != JP_GATE_BACKFILL)
		return 0;
	pthread_mutex_lock(&session->lock);
	session->backfill = jp_backfill_new(err);
	pthread_mutex_unlock(&session->lock);
	return session->backfill ? 0 : -ENOMEM;
}

static int begin(struct jp_session *session, int argc, char **argv, struct jp_error *err)
{
	enum jp_gate_policy policy;
	int channel, ret;

	ret = take_policy(argc, argv, &policy, err) ?: prepare(session, policy, err);
	if (ret)
		return ret;
	channel = jp_start_command(session, jp_gate_environment(session->gate), err);
	if (channel < 0)
		return channel;
	ret = open_events(session, policy, err);
	if (!ret)
		ret = jp_session_work(session, jp_gate_keep, session, err);
	if (!ret)
		ret = jp_start_release(session, channel, err);
	jp_start_end(session, channel, ret);
	return ret;
}

/* What perf does with its FIFO, and others with theirs: all that is left out is up to them. */
static int begin_by(struct jp_session *session, int argc, char **argv, struct jp_error *err)
{
	int ret = prepare(session, JP_GATE_NONE, err);

	if (!ret)
		ret = jp_external_begin(session, argc, argv, jp_gate_environment(session->gate),
					err);
	return ret ?: jp_session_work(session, jp_gate_keep, session, err);
}

static const struct jp_capture gated = {
	.name = "gated",
	.help = "intervals that processes announce: [--gate=none|backfill|sideband]",
	.launches = true,
	.gated = true,
	.begin = begin,
};
JP_REGISTER(capture, gated);

static const struct jp_capture gated_by = {
	.name = "gated-by",
	.help = "the same with the events of anyone's profiler: NAME",
	.launches = true,
	.gated = true,
	.external = true,
	.begin = begin_by,
};
JP_REGISTER(capture, gated_by);
