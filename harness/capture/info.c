// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/info.h"

#include <stdio.h>

#include "harness/capture/recorder.h"
#include "harness/capture/session.h"

int jp_session_info_write(struct jp_session *session, struct jp_error *err)
{
	const struct jp_recorder *recorder = session->recorder;
	struct jp_capture_info *info = &session->info;

	snprintf(info->capture, sizeof(info->capture), "%s", session->capture->name);
	snprintf(info->event, sizeof(info->event), "%s",
		 session->options.task_clock ? "task-clock" : "cpu-clock");
	info->samples = session->samples;
	info->frequency_asked = session->options.frequency;
	info->frequency = recorder->frequency;
	info->ring_sampling = recorder->rings[JP_SAMPLING * session->nr_cpus].size;
	info->ring_sideband = recorder->rings[JP_SIDEBAND * session->nr_cpus].size;
	info->cpus = session->nr_cpus;
	info->kernel = recorder->abilities.kernel;
	info->format_lost = recorder->abilities.lost;
	info->duplicates_sideband = recorder->heard.duplicates[JP_SIDEBAND];
	return jp_capture_info_write(info, session->dir, err);
}
