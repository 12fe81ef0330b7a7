// SPDX-License-Identifier: GPL-2.0-only
/* Equal mappings: at each moment at which a process stated all its executable mappings, and at the
 * borders of the window, the capture's executable bytes must be the truth's. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/order.h"
#include "harness/judge/unmapped.h"
#include "harness/judge/validator.h"
#include "validators/mapping_compare.h"
#include "validators/mapping_differences.h"
#include "harness/model/oracle/executable_load.h"
#include "validators/mapping_points.h"

/* Addresses above are the kernel's: its [vsyscall] page is in all maps and has no record of its
 * own. */
#define USER_END (UINT64_C(1) << 63)

struct equal {
	struct jp_view *view;
	struct jp_replay *spaces; /* of the file that is being read */
	bool injected;            /* the file is injected.data */
	uint64_t taken, taken_files;
	const struct jp_evidence *evidence;
	struct jp_executables truth;
	struct jp_mapping_points points;
	size_t next;
	struct jp_mapping_differences differences;
	const struct jp_executable **now; /* executable pieces at a point, sorted by start */
	size_t nr_now, now_capacity;
	uint64_t *edges;
	size_t nr_edges, edges_capacity;
	uint64_t marks, equal, compared, unjudged; /* marks; the others are bytes */
	uint64_t missing, extra, different;
	uint64_t told, untrue; /* pieces that a stream states; those that never existed */
};

/* Streams may leave out memory without samples, its attributes and its end. What they state must
 * have existed with that part of the file: symbols are found by it. */
static const struct jp_role told_mappings = {.column = "mapped"};

static bool surely(const struct equal *equal, const struct jp_executable *one, uint64_t time)
{
	const uint64_t slack = equal->evidence->info.slack;

	return one->open_after + slack <= time &&
	       (one->close_before == UINT64_MAX || time + slack <= one->close_before);
}

/* Returns the piece at @addr of @pid that ended last before @time, or NULL. */
static const struct jp_executable *last_at(const struct equal *equal, uint32_t pid, uint64_t addr,
					   uint64_t time)
{
	const uint64_t slack = equal->evidence->info.slack;
	const struct jp_executable *one, *last = NULL;
	size_t at = SIZE_MAX;

	while ((one = jp_executables_next(&equal->truth, pid, addr, addr + 1, &at)))
		if (one->close_after <= time + slack &&
		    (!last || one->close_after > last->close_after))
			last = one;
	return last;
}

/* Returns whether the capture can know of @truth. Only a snapshot shows the kernel's own page, and
 * a gate leaves it out. */
static bool is_told(const struct equal *equal, const struct jp_executable *truth, uint64_t time)
{
	const struct jp_snapshots *snapshots = &equal->evidence->snapshots;

	for (size_t i = 0; truth->start >= USER_END && !jp_evidence_gated(equal->evidence) &&
			   i < snapshots->count;
	     i++)
		if (snapshots->list[i].pid == truth->pid &&
		    snapshots->list[i].before >= truth->open_after &&
		    snapshots->list[i].after <= time)
			return true;
	return truth->start < USER_END;
}

/* Reports memory that inject removed: it may keep only the code of emitted memory, and must keep
 * all of files. Memory that perf.data lacks too is reported already. */
static int judge_taken(struct equal *equal, const struct jp_mapping_point *point,
		       const struct jp_mapping_difference *different)
{
	const struct jp_memory *memory = &equal->truth.memories[different->truth->memory];

	equal->taken += different->end - different->start;
	if (memory->act || !memory->line || *memory->line->name != '/')
		return 0;
	return jp_mapping_differ(&equal->differences, point, different, &equal->taken_files);
}

/* Judges a piece that a stream states. A statement before the mapping began is about another
 * mapping; time 0 is the attach, some time after it began. */
static int judge_told(struct equal *equal, const struct jp_mapping_point *point,
		      struct jp_mapping_difference *told)
{
	const uint64_t since = told->known->since ?: equal->evidence->watched.started;
	bool is_untrue = told->cause && strcmp(told->cause, "invented") == 0;

	equal->told++;
	if (told->truth) {
		is_untrue = told->cause && strcmp(told->cause, "offset") == 0 &&
			    since >= told->truth->open_before;
		told->metric = "mappings.differs";
	}
	return is_untrue ? jp_mapping_differ(&equal->differences, point, told, &equal->untrue) : 0;
}

/* Judges [@start, @end), which every piece contains whole or not at all. */
static int judge_piece(struct equal *equal, const struct jp_mapping_point *point, size_t first,
		       uint64_t start, uint64_t end)
{
	const struct jp_evidence *evidence = equal->evidence;
	const struct jp_mapping *known = jp_replay_find(equal->spaces, point->pid, start);
	const struct jp_executable *truth = NULL;
	struct jp_mapping_difference different = {.start = start, .end = end};
	bool possible = false;

	for (size_t i = first; i < equal->nr_now && equal->now[i]->start <= start; i++) {
		if (equal->now[i]->end <= start)
			continue;
		possible = true;
		if (surely(equal, equal->now[i], point->time))
			truth = equal->now[i];
	}
	if (known && !(known->prot & JP_PROT_EXEC))
		known = NULL;
	if ((!truth && !known) || (!known && !is_told(equal, truth, point->time)))
		return 0;
	if (!truth && possible) {
		equal->unjudged += equal->injected ? 0 : end - start;
		return 0;
	}
	different.truth = truth;
	different.known = known;
	different.metric = "injected.missing";
	different.cause = "taken";
	if (equal->injected)
		return known ? 0 : judge_taken(equal, point, &different);
	equal->compared += end - start;
	if (!truth) {
		different.metric = "mappings.extra";
		different.last = last_at(equal, point->pid, start, point->time);
		/* The parent lost it without a record, before the fork. */
		if (!different.last)
			different.last = last_at(equal, known->pid, start, point->time);
		different.cause =
			jp_mapping_extra(&equal->differences, different.last, known, point->time);
		if (equal->evidence->declared.observed)
			return judge_told(equal, point, &different);
		return jp_mapping_differ(&equal->differences, point, &different, &equal->extra);
	}
	if (known)
		different.cause = jp_mapping_differs(&equal->truth.memories[truth->memory], truth,
						     known, start);
	if (equal->evidence->declared.observed)
		return known ? judge_told(equal, point, &different) : 0;
	if (known && !different.cause) {
		equal->equal += end - start;
		return 0;
	}
	/* The last mapping has no record, and the record of the mapping before it remains. */
	if (!known || known->since + evidence->info.slack < truth->open_before)
		different.cause =
			jp_unmapped(evidence, equal->view->known, point->pid, start, point->time)
				.cause;
	if (known) {
		different.metric = "mappings.differs";
		return jp_mapping_differ(&equal->differences, point, &different, &equal->different);
	}
	different.metric = "mappings.missing";
	return jp_mapping_differ(&equal->differences, point, &different, &equal->missing);
}

static int add_edges(struct equal *equal, uint64_t start, uint64_t end)
{
	if (!jp_array_reserve(&equal->edges, &equal->edges_capacity, equal->nr_edges + 2))
		return -ENOMEM;
	equal->edges[equal->nr_edges++] = start;
	equal->edges[equal->nr_edges++] = end;
	return 0;
}

/* Collects the pieces of truth and capture at @point, and all their borders. */
static int gather(struct equal *equal, const struct jp_mapping_point *point)
{
	const struct jp_executable *one;
	const struct jp_mapping *known;
	size_t at = SIZE_MAX;
	int failed = 0;

	equal->nr_now = equal->nr_edges = 0;
	equal->differences.nothing = true;
	while (!failed &&
	       (one = jp_executables_next(&equal->truth, point->pid, 0, UINT64_MAX, &at))) {
		if (!jp_executable_possibly(one, point->time, point->time,
					    equal->evidence->info.slack))
			continue;
		if (!jp_array_reserve(&equal->now, &equal->now_capacity, equal->nr_now + 1))
			return -ENOMEM;
		equal->now[equal->nr_now++] = one;
		failed = add_edges(equal, one->start, one->end);
	}
	for (known = jp_replay_from(equal->spaces, point->pid, 0); !failed && known;
	     known = jp_replay_from(equal->spaces, point->pid, known->end))
		if (known->prot & JP_PROT_EXEC) {
			equal->differences.nothing = false;
			failed = add_edges(equal, known->start, known->end);
		}
	if (equal->nr_edges)
		qsort(equal->edges, equal->nr_edges, sizeof(*equal->edges), jp_by_value);
	return failed;
}

static int judge_point(struct equal *equal, const struct jp_mapping_point *point)
{
	int failed = gather(equal, point);
	size_t first = 0;

	equal->marks += point->mark && !equal->injected;
	for (size_t i = 1; !failed && i < equal->nr_edges; i++) {
		const uint64_t start = equal->edges[i - 1], end = equal->edges[i];

		while (first < equal->nr_now && equal->now[first]->end <= start)
			first++;
		if (start < end)
			failed = judge_piece(equal, point, first, start, end);
	}
	return failed;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	const struct jp_truth *truth = view->evidence->truth;
	struct equal *equal;
	int failed;

	/* The truth contains executable memory only. */
	if (truth->version < JP_TRUTH_VERSION_MAPS || view->evidence->declared.no_protections)
		return 0;
	equal = view->state = calloc(1, sizeof(*equal));
	if (!equal)
		return -ENOMEM;
	equal->view = view;
	equal->evidence = view->evidence;
	equal->spaces = view->spaces;
	equal->differences = (struct jp_mapping_differences){.view = view, .truth = &equal->truth};
	equal->points =
		(struct jp_mapping_points){.evidence = view->evidence, .truth = &equal->truth};
	failed = jp_executables_load(&equal->truth, truth, err)
			 ?: jp_mapping_points_find(&equal->points, err);
	return failed;
}

static int judge_points(struct equal *equal, uint64_t time)
{
	int failed = 0;

	while (!failed && equal->next < equal->points.count &&
	       equal->points.list[equal->next].time < time)
		failed = judge_point(equal, &equal->points.list[equal->next++]);
	return failed;
}

/* Starts again with injected.data, when perf.data is complete. */
static int turn_over(struct equal *equal)
{
	int failed = judge_points(equal, UINT64_MAX);

	equal->injected = true;
	equal->spaces = equal->view->spaces;
	equal->next = 0;
	return failed;
}

static int until(struct jp_view *view, uint64_t time)
{
	struct equal *equal = view->state;
	int failed = view->in_injected && !equal->injected ? turn_over(equal) : 0;

	return failed ?: judge_points(equal, time);
}

/* The replay has applied the event already: only its state at each point counts. */
static int see(struct jp_view *view, const struct jp_event *event)
{
	return 0;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	struct equal *equal = view->state;
	struct jp_findings *findings = &view->findings;
	int failed = judge_points(equal, UINT64_MAX);

	if (failed)
		return failed;
	if (equal->points.count && !equal->compared && equal->evidence->truth->nr_activations)
		return jp_fail(err, ENODATA, "no mapping was compared at any of %zu moments",
			       equal->points.count);
	if (equal->evidence->declared.observed) {
		jp_findings_add_as(
			findings, &told_mappings,
			jp_metric_rate("mappings.told", equal->told - equal->untrue, equal->told));
		return 0;
	}
	/* in KiB */
	jp_findings_add_rate(findings, "mappings.bytes", equal->equal >> 10, equal->compared >> 10);
	jp_findings_add_count(findings, "mappings.unjudged", equal->unjudged >> 10);
	jp_findings_add_count(findings, "mappings.marks", equal->marks);
	jp_findings_add_count(findings, "mappings.missing", equal->missing);
	jp_findings_add_count(findings, "mappings.extra", equal->extra);
	jp_findings_add_count(findings, "mappings.differs", equal->different);
	if (!equal->injected)
		return 0;
	jp_findings_add_count(findings, "injected.missing", equal->taken_files);
	jp_findings_add_count(findings, "injected.taken", equal->taken);
	return 0;
}

static void free_equal(void *state)
{
	struct equal *equal = state;

	jp_executables_free(&equal->truth);
	jp_map_free(&equal->differences.listed);
	free(equal->points.list);
	free(equal->now);
	free(equal->edges);
	free(equal);
}

static const struct jp_validator equal_mappings = {
	.name = "equal_mappings",
	.help = "are the capture's executable mappings those that each process truly had?",
	.traits = JP_WANTS_INJECTED | JP_LACKS_RECORDS | JP_LACKS_REGISTERS | JP_LACKS_NAMES,
	.begin = begin,
	.until = until,
	.see = see,
	.end = end,
	.free = free_equal,
};
JP_REGISTER(validator, equal_mappings);
