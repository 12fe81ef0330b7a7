// SPDX-License-Identifier: GPL-2.0-only
/* Checks figures that also follow from other files of the folder: those in `capture`, if our
 * capture wrote it, and those in the features of perf.data. Readers believe each figure, so each
 * must be right. Also compares the window that a capture states with the runner's observations. */
#include "harness/outcome/checks.h"

#include <inttypes.h>
#include <string.h>

#include "harness/base/page.h"

enum { TICK_MIN_NS = 100 * 1000, TICK_MAX_NS = 100 * 1000 * 1000 };

struct figure {
	const char *key;
	uint64_t value, min, max;
};

/* @source: words before the bounds in messages. */
static void check_bounds(const struct figure *figures, size_t count, const char *source,
			 struct jp_result *result)
{
	for (const struct figure *figure = figures; figure < figures + count; figure++)
		if (figure->value < figure->min || figure->value > figure->max)
			jp_note(result, JP_ERROR,
				"the capture states %s %" PRIu64 "; %s %" PRIu64 " to %" PRIu64,
				figure->key, figure->value, source, figure->min, figure->max);
}

/* Checks the size of a ring buffer: the number of pages is a power of two (perf_mmap() in
 * kernel/events/core.c). */
static void check_ring(struct jp_result *result, const char *key, uint64_t size)
{
	if (size < JP_PAGE_SMALLEST || (size & (size - 1)))
		jp_note(result, JP_ERROR,
			"the capture states %s %" PRIu64 ": no ring has that size", key, size);
}

static void check_capture(const struct jp_evidence *evidence,
			  const struct jp_perfdata_summary *file, struct jp_result *result)
{
	const struct jp_capture_info *info = &evidence->info;
	const uint64_t no_limit = UINT64_MAX, nr_snapshots = evidence->snapshots.count;
	/* An attach lists threads until it finds no new one, and may open a thread's events
	 * twice. */
	const bool lists = info->threads > 1 || info->thread_passes;
	const uint64_t doubles = lists ? no_limit : 0, min = info->breakpoints ? 0 : 1;
	const struct figure figures[] = {
		{"first_enabled", info->first_enabled, 1, no_limit},
		{"cpus", info->cpus, 1, no_limit},
		{"frequency", info->frequency, min, info->frequency_asked},
		{"snapshots", info->snapshots, nr_snapshots, nr_snapshots},
		/* A snapshot needs at least two readings of the maps, until two agree. */
		{"snapshot_readings", info->snapshot_readings, 2 * nr_snapshots,
		 nr_snapshots ? no_limit : 0},
		{"snapshots_unstable", info->snapshots_unstable, 0, nr_snapshots},
		{"duplicates", info->duplicates, 0, doubles},
		{"duplicates_sideband", info->duplicates_sideband, 0, doubles},
		{"breakpoints_hit", info->breakpoints_hit, 0, info->breakpoints},
		/* The last attr is that of the sideband events, one for each thread and CPU. */
		{"cpus of each thread", info->threads * info->cpus, file->last_ids, file->last_ids},
	};

	check_bounds(figures, sizeof(figures) / sizeof(*figures), "there are", result);
	check_ring(result, "ring_sampling", info->ring_sampling);
	check_ring(result, "ring_sideband", info->ring_sideband);
	if (info->format_lost != file->counts_lost)
		jp_note(result, JP_ERROR,
			"the capture states format_lost %s; the events of perf.data %s",
			info->format_lost ? "yes" : "no",
			file->counts_lost ? "count lost records" : "do not count lost records");
}

/* Returns whether the feature with the times of the first and last sample is wrong. perf finds
 * these times when it reads its file again at the end, in the order of the file, and writes 0 if it
 * does not read it again (process_sample_event() in tools/perf/builtin-record.c). */
static bool are_sample_times_wrong(const struct jp_perfdata_summary *file, bool is_own)
{
	const uint64_t *times = file->sample_times;

	if (is_own)
		return times[0] != file->first_sample || times[1] != file->last_sample;
	return (times[0] || times[1]) &&
	       (times[0] < file->first_sample || times[1] > file->last_sample);
}

/* Checks the features of perf.data. A feature may be missing: tools that copy a file may leave it
 * out. */
void jp_check_features(const struct jp_perfdata_summary *file, bool is_own,
		       struct jp_result *result)
{
	const uint64_t tick = file->clock_resolution;

	if (file->described == JP_DESCRIBED_OTHER ||
	    (is_own && file->described == JP_DESCRIBED_OTHER_NAME))
		jp_note(result, JP_ERROR,
			"the event descriptions of perf.data differ from its events%s",
			file->described == JP_DESCRIBED_OTHER ? "" : ", by their names");
	if (file->has_sample_times && are_sample_times_wrong(file, is_own))
		jp_note(result, JP_ERROR,
			"perf.data states samples from %" PRIu64 " to %" PRIu64 "; they are from "
			"%" PRIu64 " to %" PRIu64,
			file->sample_times[0], file->sample_times[1], file->first_sample,
			file->last_sample);
	/* hrtimer_get_res(): 1 ns, or without high resolution a tick. */
	if (file->has_clock_resolution && tick != 1 && (tick < TICK_MIN_NS || tick > TICK_MAX_NS))
		jp_note(result, JP_ERROR,
			"perf.data states a clock of %" PRIu64 " ns: there is none", tick);
}

/* Checks the attributes of our capture's events: those of a launched workload must wait for its
 * exec (enable_on_exec). */
static void check_attrs(const struct jp_capture_info *info, const struct jp_perfdata_summary *file,
			struct jp_result *result)
{
	const bool launch = strcmp(info->capture, "launch") == 0;

	if (file->own_attrs != file->attrs || file->on_exec != (launch ? file->attrs : 0))
		jp_note(result, JP_ERROR,
			"perf.data has event attributes that no %s capture of jitproof requests",
			info->capture);
}

void jp_check_figures(const struct jp_evidence *evidence, const struct jp_perfdata_summary *file,
		      struct jp_result *result)
{
	check_capture(evidence, file, result);
	check_attrs(&evidence->info, file, result);
	jp_check_features(file, true, result);
}

/* Checks what only our captures state: dropped duplicates, the time at which the first event was
 * enabled, the CPUs, and what the events counted, which cannot exceed the CPUs' time. */
static void check_own_capture(const struct jp_capture_info *info,
			      const struct jp_watched_info *watched, struct jp_result *result)
{
	const uint64_t max = (watched->ended - watched->started) * watched->cpus;

	if (!watched->cpus)
		return;
	if (!info->first_enabled && info->duplicates)
		jp_note(result, JP_ERROR,
			"the capture states %" PRIu64
			" duplicates; only jitproof's captures drop any",
			info->duplicates);
	if (!info->first_enabled)
		return;
	if (info->first_enabled < watched->started || info->first_enabled > info->enabled)
		jp_note(result, JP_ERROR,
			"the capture states first_enabled %" PRIu64
			"; its window began at %" PRIu64,
			info->first_enabled, info->enabled);
	if (info->cpus > watched->cpus)
		jp_note(result, JP_ERROR,
			"the capture states %" PRIu64 " CPUs; the runner saw %" PRIu64, info->cpus,
			watched->cpus);
	if (!info->breakpoints && !info->duplicates && info->counted > max)
		jp_note(result, JP_ERROR,
			"the capture states that its events counted %" PRIu64
			" ns; the CPUs ran for at most %" PRIu64,
			info->counted, max);
}

void jp_check_window(const struct jp_evidence *evidence, struct jp_result *result)
{
	const struct jp_capture_info *info = &evidence->info;
	const struct jp_watched_info *watched = &evidence->watched;
	/* The window must lie between the start and the end of the profiler, and include the time
	 * in which the runner knew that samples were taken. Our captures report when their events
	 * are off. */
	const struct figure bounds[] = {
		{"enabled", info->enabled, watched->started, watched->sampling_since},
		{"sampling", info->sampling, watched->started, watched->sampling_since},
		{"stopped", info->stopped, watched->ending,
		 info->first_enabled && watched->silent ? watched->silent : watched->ended},
		{"slack", info->slack, watched->slack, watched->slack},
		{"max_stack", info->max_stack, watched->max_stack, watched->max_stack},
		{"stack_dump", info->stack_dump, watched->stack_dump, watched->stack_dump},
	};

	if (!watched->started)
		return;
	check_own_capture(info, watched, result);
	if (watched->cpus &&
	    strcmp(info->policy, jp_synth_text((enum jp_synth)watched->synth)) != 0)
		jp_note(result, JP_ERROR,
			"the capture states that it synthesized %s, the runner asked for %s",
			info->policy, jp_synth_text((enum jp_synth)watched->synth));
	check_bounds(bounds, sizeof(bounds) / sizeof(*bounds), "the runner saw", result);
}
