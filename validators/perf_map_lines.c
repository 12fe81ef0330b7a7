// SPDX-License-Identifier: GPL-2.0-only
/* Lines of perf maps: a map that lists any function of its process must list exactly the functions
 * that the process loaded, except those in files, with address, size and name. Samples do not show
 * every missing line, because other code may have replaced the function. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/digest.h"
#include "harness/base/map.h"
#include "harness/judge/validator.h"
#include "harness/model/files/file_finder.h"
#include "harness/model/symbols/names.h"
#include "validators/images.h"

/* Number of lines with one address, size and name. */
struct line_count {
	uint64_t lines;
	bool code; /* whether the process had such code at any time */
};

struct perf_map_lines {
	struct jp_view *view;
	struct jp_names *names;
	uint64_t lines, invented, loads, absent;
};

struct process_map {
	struct perf_map_lines *lines;
	uint32_t pid;
	struct jp_map counts; /* struct line_count, by digest */
	struct jp_map ids;    /* ids of loaded code: later code with the same id was moved */
	bool is_known;        /* a line describes code of the process */
	int failed;
};

static struct line_count *get_line_count(struct process_map *map, uint64_t start, uint64_t size,
					 const char *name)
{
	const uint64_t position[] = {start, size};

	return jp_map_at(
		&map->counts,
		jp_digest_bytes(jp_digest_bytes(0, position, sizeof(position)), name, strlen(name)),
		sizeof(struct line_count));
}

static void count_line(void *context, uint64_t start, uint64_t size, const char *name)
{
	struct process_map *map = context;
	struct line_count *count = get_line_count(map, start, size, name);

	if (!count) {
		map->failed = -ENOMEM;
		return;
	}
	count->lines++;
	map->is_known |= count->code;
}

static void judge_line(void *context, uint64_t start, uint64_t size, const char *name)
{
	struct process_map *map = context;
	const struct line_count *count = get_line_count(map, start, size, name);

	map->lines->lines++;
	if (map->failed || (count && count->code))
		return;
	map->lines->invented++;
	map->failed = jp_findings_count_failure(
		&map->lines->view->findings, "published.invented", "no-code",
		"perf map of pid %u: %.100s at %" PRIx64 ", %" PRIu64
		" bytes: the process never had such code",
		map->pid, name, start, size);
}

/* Returns whether the process loaded, and so published, @code after its start @begun. Inherited and
 * moved code is not published. */
static bool is_load(const struct process_map *map, const struct jp_truth_code *code, uint64_t begun)
{
	const uint64_t *first = jp_map_find(&map->ids, code->id);

	return code->loaded > begun && first && code->loaded == *first;
}

static int judge_load(struct process_map *map, const struct jp_truth_code *code)
{
	struct line_count *count = get_line_count(map, code->addr, code->size, code->name);
	struct jp_exception *exception;

	if (!count)
		return -ENOMEM;
	map->lines->loads++;
	if (count->lines) {
		count->lines--;
		return 0;
	}
	map->lines->absent++;
	exception = jp_findings_count(&map->lines->view->findings, "published.absent", JP_METHODS,
				      "no-line");
	if (!exception)
		return -ENOMEM;
	jp_count_in_image(exception, map->lines->view->evidence->truth, code);
	if (exception->count == 1)
		snprintf(exception->example, sizeof(exception->example),
			 "%.100s of pid %u at %" PRIx64 ", loaded at %" PRIu64
			 ": the process has a perf map, and no line names it",
			 code->name, map->pid, code->addr, code->loaded);
	return 0;
}

/* Marks the lines that describe code of the process, and stores when each id was first loaded. */
static int note_codes(struct process_map *map, const struct jp_truth_code *codes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct line_count *line =
			get_line_count(map, codes[i].addr, codes[i].size, codes[i].name);
		uint64_t *first = jp_map_at(&map->ids, codes[i].id, sizeof(*first));

		if (!line || !first)
			return -ENOMEM;
		line->code = true;
		if (!*first || codes[i].loaded < *first)
			*first = codes[i].loaded;
	}
	return 0;
}

/* Judges a map with at least one function of its process. */
static int judge_map(struct process_map *map, const struct jp_truth_code *codes, size_t count,
		     const struct jp_perf_map *lines)
{
	const uint64_t begun = jp_find_last_exec(map->lines->view->evidence->truth, map->pid);

	map->failed = note_codes(map, codes, count);
	if (!map->failed)
		jp_perf_map_visit_lines(lines, count_line, map);
	if (!map->is_known)
		return map->failed;
	jp_perf_map_visit_lines(lines, judge_line, map);
	for (size_t i = 0; i < count && !map->failed; i++)
		if (is_load(map, &codes[i], begun) && !codes[i].in_file)
			map->failed = judge_load(map, &codes[i]);
	return map->failed;
}

static int judge_maps(struct perf_map_lines *maps)
{
	const struct jp_truth *truth = maps->view->evidence->truth;
	int failed = 0;

	for (size_t i = 0, next; i < truth->nr_codes && !failed; i = next) {
		struct process_map map = {.lines = maps, .pid = truth->codes[i].pid};
		const struct jp_perf_map *lines = jp_names_map(maps->names, map.pid, NULL);

		for (next = i; next < truth->nr_codes && truth->codes[next].pid == map.pid;)
			next++;
		if (lines)
			failed = judge_map(&map, &truth->codes[i], next - i, lines);
		jp_map_free(&map.counts);
		jp_map_free(&map.ids);
	}
	jp_findings_add_rate(&maps->view->findings, "published.absent", maps->absent, maps->loads);
	jp_findings_add_rate(&maps->view->findings, "published.invented", maps->invented,
			     maps->lines);
	return failed;
}

/* Judges all maps at once, because they do not depend on events. */
static int begin(struct jp_view *view, struct jp_error *err)
{
	struct perf_map_lines maps = {.view = view};
	struct jp_file_finder *finder;
	int failed;

	if (!view->asked->names || view->added_back)
		return 0;
	finder = jp_file_finder_of_run(view->evidence->dir);
	maps.names = finder ? jp_names_new(finder) : NULL;
	failed = maps.names ? judge_maps(&maps) : -ENOMEM;
	jp_names_free(maps.names);
	jp_file_finder_free(finder);
	return failed;
}

JP_DEFINE(validator, perf_map_lines) = {
	.name = "perf_map_lines",
	.traits = JP_LACKS_ALL,
	.begin = begin,
};
