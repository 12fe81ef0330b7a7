// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>

#include "harness/capture/event_open.h"
#include "harness/capture/drain.h"
#include "harness/capture/recording.h"
#include "harness/capture/backfill.h"
#include "harness/capture/external.h"
#include "harness/capture/gate.h"
#include "harness/capture/probe.h"
#include "harness/capture/recorder.h"
#include "harness/capture/session.h"
#include "harness/capture/snapshot.h"
#include "harness/capture/launch.h"

/* A capture that records as profilers do for benchmark runners: the launched command and its
 * processes inherit the events, and samples are taken only in the intervals that these processes
 * announce. */
struct gated_state {
	struct jp_gate *gate;
	const struct jp_gate_policy *policy;
	struct jp_backfill *backfill; /* state of the policy "backfill"; NULL: another policy */
};

/* Switches sideband on before sampling, and off after it. */
static int switch_sideband_and_samples(struct jp_session *session, bool enable,
				       struct jp_error *err)
{
	const enum jp_stream first = enable ? JP_SIDEBAND : JP_SAMPLING;
	const enum jp_stream last = enable ? JP_SAMPLING : JP_SIDEBAND;

	return jp_open_switch(session, first, enable, err)
		       ?: jp_open_switch(session, last, enable, err);
}

static int switch_samples(struct jp_session *session, bool enable, struct jp_error *err)
{
	return jp_open_switch(session, JP_SAMPLING, enable, err);
}

static int backfill_process(struct jp_session *session, pid_t pid, const struct jp_reading *reading,
			    struct jp_error *err)
{
	const struct gated_state *gated = session->state;

	jp_drain_now(session);
	return jp_backfill_write(session, gated->backfill, pid, reading, err);
}

/* The policies, which differ in the events that are off outside intervals, and in how they make up
 * for records that the kernel did not write meanwhile. */
static const struct jp_gate_policy policies[] = {
	/* Switches all events and makes up for nothing: a bug of real profilers. Copies the mapped
	 * files, with which a control can restore the missing mappings. */
	{.name = "none",
	 .switch_events = switch_sideband_and_samples,
	 .announced = jp_reading_want_files},
	/* Switches all events. Writes records made from /proc/PID/maps for mappings from before the
	 * interval. */
	{.name = "backfill",
	 .read_first = true,
	 .switch_events = switch_sideband_and_samples,
	 .announced = backfill_process},
	/* Switches only samples; sideband events stay on. This is the better remedy. */
	{.name = "sideband", .switch_events = switch_samples},
};
/* The policy of gated-by: the external profiler switches its own events. */
static const struct jp_gate_policy external_policy = {
	.name = "none", .switch_events = jp_external_switch, .announced = jp_reading_want_files};

/* Parses [--gate=none|backfill|sideband]. */
static int parse_policy(int argc, char **argv, const struct jp_gate_policy **policy,
			struct jp_error *err)
{
	const struct jp_gate_policy *end = policies + sizeof(policies) / sizeof(policies[0]);

	*policy = end - 1;
	for (int i = 1; i < argc; i++) {
		*policy = policies;
		while (*policy < end && (strncmp(argv[i], "--gate=", 7) != 0 ||
					 strcmp(argv[i] + 7, (*policy)->name) != 0))
			++*policy;
		if (*policy == end)
			return jp_fail(err, EINVAL,
				       "gated: '%s': --gate=none, backfill or sideband was "
				       "expected",
				       argv[i]);
	}
	return 0;
}

/* Returns whether an exec of the same program maps everything at the same addresses. */
static bool are_addresses_fixed(void)
{
	const int persona = personality(0xffffffff);

	return (persona >= 0 && persona & ADDR_NO_RANDOMIZE) ||
	       jp_sysctl_read("randomize_va_space", 2) == 0;
}

/* Implements jp_capture.probe. The policy "backfill" needs random addresses, because it detects an
 * exec while the events were off by new addresses. */
static int probe(const struct jp_capture_options *options, int argc, char **argv, char *missing,
		 size_t size)
{
	const struct jp_gate_policy *policy;
	const int count = jp_probe_clock(options, argc, argv, missing, size);

	if (count || parse_policy(argc, argv, &policy, NULL) ||
	    policy->announced != backfill_process || !are_addresses_fixed())
		return count;
	snprintf(missing, size,
		 "random addresses, by which backfill sees an exec (run without "
		 "setarch -R, with kernel.randomize_va_space=2)");
	return 1;
}

static int make_gate(struct jp_session *session, const struct jp_gate_policy *policy,
		     struct jp_error *err)
{
	struct gated_state *gated;

	if (session->options.system_wide || !session->dir)
		return jp_fail(err, EINVAL,
			       "gated: this capture works only in cases, which have a run "
			       "directory");
	gated = session->state = calloc(1, sizeof(*gated));
	if (!gated)
		return jp_fail(err, ENOMEM, "out of memory for the gate");
	/* A gated workload reports "ready" only after its last interval, so when the runner begins
	 * to wait for samples, the capture is complete. */
	session->complete = true;
	gated->policy = policy;
	gated->gate = jp_gate_new(session, policy, err);
	return gated->gate ? 0 : -EIO;
}

static int observe_sideband(struct jp_session *session, struct jp_error *err)
{
	struct gated_state *gated = session->state;

	if (gated->policy->announced != backfill_process)
		return 0;
	gated->backfill = jp_backfill_new(err);
	if (!gated->backfill)
		return -ENOMEM;
	pthread_mutex_lock(&session->lock);
	session->recorder->received.observer =
		(struct jp_observer){.context = gated->backfill, .sideband = jp_backfill_note};
	pthread_mutex_unlock(&session->lock);
	return 0;
}

static int open_events(struct jp_session *session, struct jp_error *err)
{
	const struct gated_state *gated = session->state;
	int ret = jp_open_command(session, err);

	if (!ret && gated->policy->switch_events == switch_samples)
		ret = jp_open_switch(session, JP_SIDEBAND, true, err);
	return ret ?: jp_recorder_note_enabled(session) ?: jp_gate_keep(gated->gate, err);
}

static int begin(struct jp_session *session, int argc, char **argv, struct jp_error *err)
{
	const struct jp_gate_policy *policy;
	int ret = parse_policy(argc, argv, &policy, err)
			  ?: jp_recorder_begin(session, false, err)
			  ?: make_gate(session, policy, err)
			  ?: observe_sideband(session, err);
	const struct gated_state *gated = session->state;

	return ret ?: jp_start_command(session, jp_gate_environment(gated->gate), open_events, err);
}

static void free_gate(struct jp_session *session)
{
	struct gated_state *gated = session->state;

	jp_recorder_free(session);
	jp_external_free(session);
	if (!gated)
		return;
	jp_gate_free(gated->gate);
	jp_backfill_free(gated->backfill);
	free(gated);
}

static int begin_with_policy(struct jp_session *session, int argc, char **argv,
			     struct jp_error *err)
{
	int ret = jp_session_prepare(session, err) ?: make_gate(session, &external_policy, err);
	const struct gated_state *gated = session->state;

	return ret ?: jp_external_begin(session, argc, argv, jp_gate_environment(gated->gate), err)
		   ?: jp_gate_keep(gated->gate, err);
}

JP_DEFINE(capture, gated_capture) = {
	.name = "gated",
	.traits = JP_CAPTURE_LAUNCHES | JP_CAPTURE_GATED,
	.probe = probe,
	.begin = begin,
	.stop = jp_recorder_stop,
	.finish = jp_recorder_finish,
	.free = free_gate,
};

/* `gated-by NAME`: as `gated`, with the events of an external profiler. */
JP_DEFINE(capture, gated_by) = {
	.name = "gated-by",
	.traits = JP_CAPTURE_LAUNCHES | JP_CAPTURE_EXTERNAL | JP_CAPTURE_GATED,
	.probe = jp_external_probe,
	.begin = begin_with_policy,
	.stop = jp_external_stop,
	.finish = jp_external_finish,
	.free = free_gate,
};
