// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/capture/session.h"

static const char *yes(bool is)
{
	return is ? "yes" : "no";
}

static void put_info(FILE *file, const struct jp_capture_info *info)
{
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = {
		{"enabled", info->enabled},
		{"sampling", info->sampling},
		{"stopped", info->stopped},
		{"slack", info->slack},
		{"max_stack", info->max_stack},
		{"stack_dump", info->stack_dump},
		{"lost_sideband", info->lost_sideband},
		{"lost_samples", info->lost_samples},
		{"duplicates", info->duplicates},
		{"breakpoints", info->breakpoints},
	};

	fprintf(file, "policy %s\n", info->policy);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		fprintf(file, "%s %" PRIu64 "\n", numbers[i].key, numbers[i].value);
}

static void put_session(FILE *file, const struct jp_session *session)
{
	const struct jp_ring *ring = session->rings;

	fprintf(file, "capture %s\n", session->capture->name);
	fprintf(file, "order %s\n", session->order);
	fprintf(file, "event %s\n", session->options.task_clock ? "task-clock" : "cpu-clock");
	fprintf(file, "samples %" PRIu64 "\n", session->samples);
	fprintf(file, "first_enabled %" PRIu64 "\n", session->first_enabled);
	fprintf(file, "frequency_asked %u\n", session->options.frequency);
	fprintf(file, "frequency %u\n", session->frequency);
	fprintf(file, "ring_sampling %zu\n", ring[JP_SAMPLING * session->nr_cpus].size);
	fprintf(file, "ring_sideband %zu\n", ring[JP_SIDEBAND * session->nr_cpus].size);
	fprintf(file, "cpus %u\n", session->nr_cpus);
	fprintf(file, "threads %u\n", session->threads);
	fprintf(file, "thread_passes %u\n", session->thread_passes);
	fprintf(file, "settled %s\n", yes(session->settled));
	fprintf(file, "snapshots %u\n", session->snapshots);
	fprintf(file, "snapshot_readings %u\n", session->snapshot_readings);
	fprintf(file, "snapshots_unstable %u\n", session->unstable);
	fprintf(file, "kernel %s\n", yes(session->abilities.kernel));
	fprintf(file, "format_lost %s\n", yes(session->abilities.lost));
	fprintf(file, "duplicates_sideband %" PRIu64 "\n", session->duplicates[JP_SIDEBAND]);
	fprintf(file, "breakpoints_hit %" PRIu64 "\n", session->breakpoints_hit);
}

int jp_capture_info_write(const struct jp_session *session, struct jp_error *err)
{
	char path[4096];
	FILE *file;
	int ret = 0;

	snprintf(path, sizeof(path), "%s/capture", session->dir);
	file = fopen(path, "we");
	if (!file)
		return jp_fail(err, errno, "%s: %s", path, strerror(errno));
	put_info(file, &session->info);
	put_session(file, session);
	if (ferror(file))
		ret = EIO;
	if (fclose(file) && !ret)
		ret = errno;
	return ret ? jp_fail(err, ret, "%s: cannot be written: %s", path, strerror(ret)) : 0;
}
