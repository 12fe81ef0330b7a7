// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "harness/capture/session.h"

int jp_session_info_write(const struct jp_session *session, struct jp_error *err)
{
	const struct jp_ring *ring = session->rings;
	struct jp_capture_info info = session->info;

	snprintf(info.capture, sizeof(info.capture), "%s", session->capture->name);
	snprintf(info.order, sizeof(info.order), "%s", session->order);
	snprintf(info.event, sizeof(info.event), "%s",
		 session->options.task_clock ? "task-clock" : "cpu-clock");
	info.samples = session->samples;
	info.first_enabled = session->first_enabled;
	info.frequency_asked = session->options.frequency;
	info.frequency = session->frequency;
	info.ring_sampling = ring[JP_SAMPLING * session->nr_cpus].size;
	info.ring_sideband = ring[JP_SIDEBAND * session->nr_cpus].size;
	info.cpus = session->nr_cpus;
	info.threads = session->threads;
	info.thread_passes = session->thread_passes;
	info.settled = session->settled;
	info.snapshots = session->snapshots;
	info.snapshot_readings = session->snapshot_readings;
	info.snapshots_unstable = session->unstable;
	info.kernel = session->abilities.kernel;
	info.format_lost = session->abilities.lost;
	info.duplicates_sideband = session->duplicates[JP_SIDEBAND];
	info.breakpoints_hit = session->breakpoints_hit;
	return jp_capture_info_write(&info, session->dir, err);
}
