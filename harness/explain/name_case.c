// SPDX-License-Identifier: GPL-2.0-only
#include "harness/explain/name_causes.h"

#include <stdio.h>

#include "harness/explain/emitter.h"

const char *jp_name_case_comm(const struct jp_name_case *name_case)
{
	return jp_replay_comm(name_case->view->spaces, name_case->loss->pid);
}

size_t jp_name_covers(const struct jp_name_loss *loss, const struct jp_perf_map *map)
{
	size_t covers = 0;

	for (size_t i = 0; i < loss->nr_addrs; i++)
		covers += jp_perf_map_covers(map, loss->addrs[i]);
	return covers;
}

size_t jp_name_count_lines(const struct jp_name_loss *loss, const struct jp_perf_map *map)
{
	size_t lines = 0;

	for (size_t i = 0; i < loss->nr_ranges; i++)
		lines += jp_perf_map_count_lines(map, loss->ranges[i].start, loss->ranges[i].end);
	return lines;
}

struct jp_blame *jp_blame_names(const struct jp_name_case *name_case, const char *id,
				const char *file)
{
	struct jp_name_loss *loss = name_case->loss;
	struct jp_blame *blame = jp_blame(name_case->view->blames, id, loss->pid,
					  jp_name_case_comm(name_case), file, loss->samples);

	loss->blame = blame;
	for (size_t i = 0; i < loss->nr_ranges; i++)
		jp_blame_range(blame, loss->ranges[i].start, loss->ranges[i].end);
	return blame;
}

const char *jp_name_option(const struct jp_name_case *name_case, char text[JP_OPTION_TEXT])
{
	const char *caller;
	const struct jp_runtime *runtime =
		jp_emitter_find(name_case->view->ends, name_case->loss->pid, name_case->loss->name,
				jp_name_case_comm(name_case), &caller);

	if (runtime)
		return runtime->names;
	snprintf(text, JP_OPTION_TEXT, "switch on the %s (/tmp/perf-PID.map) or jitdump%s%.200s",
		 caller ? "perf map" : "runtime's perf map", caller ? " of the engine in " : "",
		 caller ?: "");
	return text;
}

bool jp_recording_stat(const struct jp_explain_view *view, struct stat *st)
{
	return !stat(view->path, st) && S_ISREG(st->st_mode);
}
