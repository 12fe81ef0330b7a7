// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/recording.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/clock.h"
#include "harness/base/order.h"
#include "harness/capture/drain.h"
#include "harness/capture/received.h"
#include "harness/capture/event_open.h"
#include "harness/capture/probe.h"
#include "harness/capture/recorder.h"
#include "harness/capture/rings.h"
#include "harness/capture/session.h"
#include "harness/capture/synthesize.h"
#include "harness/format/perfdata/format.h"

/* Returns a text that names the option without which the kernel would accept the events, or "". */
static const char *find_refused_option(const struct jp_session *session)
{
	struct jp_capture_options options = session->options;
	struct jp_abilities abilities;

	if (!options.deferred)
		return "";
	options.deferred = false;
	return jp_abilities_try(&options, &abilities)
		       ? ""
		       : " with attr.defer_callchain (since Linux 6.19)";
}

static int find_abilities(struct jp_session *session, struct jp_error *err)
{
	struct jp_abilities *abilities = &session->recorder->abilities;
	int ret = jp_abilities_try(&session->options, abilities);
	char reason[128];

	if (ret) {
		jp_perf_explain_error(-ret, reason, sizeof(reason));
		return jp_fail(err, -ret, "perf_event_open%s: %s", find_refused_option(session),
			       reason);
	}
	if (session->options.need_kernel && !abilities->kernel)
		return jp_fail(err, EOPNOTSUPP,
			       "the kernel may not be sampled (kernel.perf_event_paranoid=%ld)",
			       jp_sysctl_read("perf_event_paranoid", 0));
	return 0;
}

int jp_recorder_open(struct jp_session *session, struct jp_error *err)
{
	const pid_t pid = session->target->pid;
	struct jp_recorder *recorder;

	/* Check that the process exists before an existing perf.data is replaced. */
	if (pid > 0 && kill(pid, 0) && errno == ESRCH)
		return jp_fail(err, ESRCH, "no process %d", pid);
	recorder = calloc(1, sizeof(*recorder));
	if (!recorder)
		return jp_fail(err, ENOMEM, "out of memory for a recorder");
	recorder->drain =
		(struct jp_drain){.wake = -1, .epoll = -1, .target_fd = -1, .hold_rounds = true};
	session->recorder = recorder;
	return find_abilities(session, err)
		       ?: jp_session_prepare(session, err)
				  ?: jp_drain_start(session, err) ?: jp_rings_open(session, err);
}

int jp_recorder_create(struct jp_session *session, const char *name, struct jp_error *err)
{
	struct jp_recorder *recorder = session->recorder;
	const char *user = recorder->attr[JP_SAMPLING].exclude_kernel ? ":u" : "";
	char sampling[32], sideband[32];
	struct jp_perf_attr attrs[JP_STREAMS] = {0};
	const struct jp_perfdata_event events[JP_STREAMS] = {
		[JP_SAMPLING] = {&attrs[JP_SAMPLING], sampling},
		[JP_SIDEBAND] = {&attrs[JP_SIDEBAND], sideband},
	};
	struct jp_perfdata_writer *writer;

	snprintf(sampling, sizeof(sampling), "%s%s", name, user);
	snprintf(sideband, sizeof(sideband), "dummy%s", user);
	for (int i = 0; i < JP_STREAMS; i++) {
		memcpy(&attrs[i], &recorder->attr[i], recorder->attr[i].size);
		jp_attr_layout(&recorder->attr[i], &recorder->layout[i]);
	}
	writer = jp_perfdata_create(session->output, events, JP_STREAMS, err);
	if (!writer)
		return -EIO;
	pthread_mutex_lock(&session->lock);
	recorder->writer = writer;
	pthread_mutex_unlock(&session->lock);
	return 0;
}

int jp_recorder_begin(struct jp_session *session, bool on_exec, struct jp_error *err)
{
	const struct jp_capture_options *options = &session->options;
	struct jp_recorder *recorder;
	int ret = jp_recorder_open(session, err);

	if (ret)
		return ret;
	recorder = session->recorder;
	jp_attr_sampling(&recorder->attr[JP_SAMPLING], options, &recorder->abilities,
			 recorder->frequency);
	jp_attr_sideband(&recorder->attr[JP_SIDEBAND], options, &recorder->abilities);
	for (int i = 0; i < JP_STREAMS; i++)
		recorder->attr[i].enable_on_exec = on_exec;
	return jp_recorder_create(session, options->task_clock ? "task-clock" : "cpu-clock", err);
}

void jp_recorder_write_kernel(struct jp_session *session)
{
	if (!session->recorder->abilities.kernel)
		return;
	pthread_mutex_lock(&session->lock);
	jp_synthesize_kernel(session->recorder, session->began);
	pthread_mutex_unlock(&session->lock);
}

void jp_recorder_note_sampling(struct jp_session *session)
{
	pthread_mutex_lock(&session->lock);
	session->info.sampling = jp_clock_now();
	session->recorder->drain.hold_rounds = false;
	pthread_mutex_unlock(&session->lock);
}

int jp_recorder_note_enabled(struct jp_session *session)
{
	jp_recorder_write_kernel(session);
	session->info.enabled = session->info.first_enabled = jp_clock_now();
	jp_recorder_note_sampling(session);
	return 0;
}

/* Returns whether the event's count is correct. A wrong count is not stored: no count is better. */
static bool is_counted(const struct perf_event_attr *attr)
{
	return attr->type != PERF_TYPE_SOFTWARE || jp_probe_counts(attr->config);
}

void jp_recorder_stop(struct jp_session *session)
{
	const struct jp_recorder *recorder = session->recorder;
	struct jp_capture_info *info = &session->info;

	info->stopped = jp_clock_now();
	/* Switch off sideband after sampling, so that the mappings of every sample are recorded. */
	jp_open_switch(session, JP_SAMPLING, false, NULL);
	session->silent = jp_clock_now();
	jp_open_switch(session, JP_SIDEBAND, false, NULL);
	jp_drain_stop(session);
	jp_open_close(session, 0);
	if (is_counted(&recorder->attr[JP_SAMPLING]))
		info->counted = recorder->opened.counted[JP_SAMPLING];
	info->lost_samples =
		jp_max(recorder->received.lost[JP_SAMPLING], recorder->opened.lost[JP_SAMPLING]);
	info->lost_sideband =
		jp_max(recorder->received.lost[JP_SIDEBAND], recorder->opened.lost[JP_SIDEBAND]);
	info->duplicates = recorder->received.duplicates[JP_SAMPLING];
}

static int close_file(struct jp_recorder *recorder, struct jp_error *err)
{
	struct jp_perfdata_writer *writer = recorder->writer;

	recorder->writer = NULL;
	return jp_perfdata_close(writer, recorder->received.first_sample,
				 recorder->received.last_sample, err);
}

static int write_info(struct jp_session *session, struct jp_error *err)
{
	const struct jp_recorder *recorder = session->recorder;
	struct jp_capture_info *info = &session->info;

	snprintf(info->capture, sizeof(info->capture), "%s", session->capture->name);
	snprintf(info->event, sizeof(info->event), "%s",
		 session->options.task_clock ? "task-clock" : "cpu-clock");
	info->samples = session->samples;
	info->frequency_asked = session->options.frequency;
	info->frequency = recorder->frequency;
	info->ring_sampling = recorder->rings[JP_SAMPLING * session->nr_cpus].records.size;
	info->ring_sideband = recorder->rings[JP_SIDEBAND * session->nr_cpus].records.size;
	info->cpus = session->nr_cpus;
	info->kernel = recorder->abilities.kernel;
	info->format_lost = recorder->abilities.lost;
	info->duplicates_sideband = recorder->received.duplicates[JP_SIDEBAND];
	return jp_capture_info_write(info, session->dir, err);
}

int jp_recorder_finish(struct jp_session *session, struct jp_error *err)
{
	struct jp_recorder *recorder = session->recorder;
	/* If a ring stayed full until the end, the kernel wrote no LOST record for its last
	 * losses. */
	uint64_t unreported = session->info.lost_samples - recorder->received.lost[JP_SAMPLING];
	int ret;

	if (unreported)
		jp_synthesize_lost(recorder, unreported, jp_clock_now());
	ret = close_file(recorder, err);
	return ret || !session->dir ? ret : write_info(session, err);
}

void jp_recorder_free(struct jp_session *session)
{
	struct jp_recorder *recorder = session->recorder;

	if (!recorder)
		return;
	jp_drain_stop(session);
	jp_open_close(session, 0);
	/* The session failed to begin, so its file is no recording. */
	if (recorder->writer)
		jp_perfdata_remove(recorder->writer);
	jp_rings_close(session);
	jp_drain_close(&recorder->drain);
	jp_received_free(&recorder->received);
	free(recorder->opened.list);
	free(recorder);
	session->recorder = NULL;
}
