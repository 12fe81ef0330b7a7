// SPDX-License-Identifier: GPL-2.0-only
/* Mapping coverage: measures how much of the memory that was executable during sampling the
 * capture's mappings contain, with the right kind and identity. Reports the capture's mappings of
 * memory that was not executable. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/order.h"
#include "harness/base/search.h"
#include "harness/base/sort.h"
#include "harness/judge/unmapped.h"
#include "validators/coverage.h"

static void describe(const struct jp_span *span, char *text, size_t size)
{
	snprintf(text, size, "%" PRIx64 "-%" PRIx64 " %s of pid %u, %s from %" PRIu64,
		 span->mapping.start, span->mapping.end, span->mapping.name, span->pid,
		 span->mapping.prot & JP_PROT_EXEC ? "executable" : "not executable",
		 span->open_after);
}

/* Reports an exception. @cause NULL: finds the cause why the capture lacks the mapping at @time. */
static int report(struct jp_coverage *coverage, const char *metric, const char *cause,
		  const struct jp_span *span, uint64_t start, uint64_t end, uint64_t time,
		  const char *problem)
{
	char text[256], reason[256] = "";

	if (!cause) {
		struct jp_unmapped unmapped = jp_unmapped(
			coverage->view->evidence, coverage->view->recorded, span->pid, start, time);

		cause = unmapped.cause;
		jp_unmapped_text(&unmapped, reason, sizeof(reason));
	}
	describe(span, text, sizeof(text));
	return jp_findings_count_failure(&coverage->view->findings, metric, cause,
					 "%" PRIx64 "-%" PRIx64 " of mapping %s: %s%s%s", start,
					 end, text, problem, *reason ? "; " : "", reason);
}

/* Stores in *@uncovered for how many ns of [@from_ns, @to_ns) no right span contains all of
 * [@start,
 * @end), in *@is_known whether a right span does, and in *@has_other whether a span of another
 * mapping does. Returns 0 or -ENOMEM. */
static int find_uncovered_time(struct jp_coverage *coverage, const struct jp_span *truth,
			       uint64_t start, uint64_t end, uint64_t from_ns, uint64_t to_ns,
			       uint64_t *uncovered, bool *is_known, bool *has_other)
{
	const struct jp_box box = {start, end, from_ns, to_ns};
	const int failed = jp_coverage_find(coverage, coverage->view->recorded, truth->pid, &box);
	uint64_t covered_end = from_ns;

	/* Spans are sorted by open_before: skip to the end of each right span. */
	for (size_t i = 0; i < coverage->nr_found; i++) {
		const struct jp_span *span = coverage->spans[i];

		if (span->mapping.start > start || span->mapping.end < end ||
		    span->close_before <= from_ns || span->open_before >= to_ns)
			continue;
		if (!jp_coverage_is_same_mapping(&truth->mapping, &span->mapping, start)) {
			*has_other = true;
			continue;
		}
		*is_known = true;
		if (span->open_before > covered_end) {
			*uncovered += span->open_before - covered_end;
			covered_end = span->open_before;
		}
		covered_end = jp_max(covered_end, jp_min(span->close_before, to_ns));
	}
	*uncovered += to_ns - covered_end;
	return failed;
}

/* Returns the cause why the capture has another mapping at @start. NULL: mremap() moved @truth
 * there, so the exception is a missing mapping. */
static const char *find_other_cause(const struct jp_coverage *coverage, const struct jp_span *truth,
				    uint64_t start, uint64_t time)
{
	const struct jp_unmapped unmapped = jp_unmapped(
		coverage->view->evidence, coverage->view->recorded, truth->pid, start, time);

	return strcmp(unmapped.cause, "mremap") == 0 ? NULL : "other-mapping";
}

/* Judges [@start, @end) of @truth during [@from_ns, @to_ns). Each known span contains all or
 * none of the piece. */
static int judge_piece(struct jp_coverage *coverage, const struct jp_span *truth, uint64_t start,
		       uint64_t end, uint64_t from_ns, uint64_t to_ns)
{
	bool is_known = false, has_other = false;
	uint64_t uncovered = 0;
	char text[96];

	if (find_uncovered_time(coverage, truth, start, end, from_ns, to_ns, &uncovered, &is_known,
				&has_other))
		return -ENOMEM;
	coverage->true_area += (double)(end - start) * (to_ns - from_ns) / 1e9;
	coverage->known_area += (double)(end - start) * (to_ns - from_ns - uncovered) / 1e9;
	if (!uncovered)
		return 0;
	if (is_known) {
		coverage->late++;
		coverage->late_ns = jp_max(coverage->late_ns, uncovered);
		snprintf(text, sizeof(text), "not known for %" PRIu64 " ns of %" PRIu64, uncovered,
			 to_ns - from_ns);
		return report(coverage, "coverage.late", NULL, truth, start, end, from_ns, text);
	}
	if (has_other) {
		coverage->identity++;
		return report(coverage, "coverage.identity",
			      find_other_cause(coverage, truth, start, from_ns), truth, start, end,
			      from_ns, "the capture holds another mapping there");
	}
	coverage->missing++;
	return report(coverage, "coverage.missing", NULL, truth, start, end, from_ns,
		      "in no mapping record of the capture");
}

/* Splits @truth where the capture's spans begin or end, and judges the pieces in [@from_ns,
 * @to_ns). */
static int judge_window(struct jp_coverage *coverage, const struct jp_span *truth, uint64_t from_ns,
			uint64_t to_ns)
{
	const struct jp_box box = {truth->mapping.start, truth->mapping.end, from_ns, to_ns};
	jp_cleanup_free uint64_t *borders = NULL;
	size_t nr_borders = 0;
	int failed = jp_coverage_find(coverage, coverage->view->recorded, truth->pid, &box);

	borders = failed ? NULL : malloc((2 * coverage->nr_found + 2) * sizeof(*borders));
	if (!borders)
		return -ENOMEM;
	borders[nr_borders++] = truth->mapping.start;
	borders[nr_borders++] = truth->mapping.end;
	for (size_t k = 0; k < coverage->nr_found; k++) {
		const struct jp_span *span = coverage->spans[k];
		const uint64_t ends[] = {span->mapping.start, span->mapping.end};

		for (int i = 0; i < 2 && span->open_before < to_ns && span->close_before > from_ns;
		     i++)
			if (ends[i] > truth->mapping.start && ends[i] < truth->mapping.end)
				borders[nr_borders++] = ends[i];
	}
	jp_sort(borders, nr_borders, jp_compare_by_value);
	for (size_t i = 0; !failed && i + 1 < nr_borders; i++)
		if (borders[i] < borders[i + 1])
			failed = judge_piece(coverage, truth, borders[i], borders[i + 1], from_ns,
					     to_ns);
	return failed;
}

static int judge_span(struct jp_coverage *coverage, const struct jp_span *truth)
{
	const struct jp_evidence *evidence = coverage->view->evidence;
	const uint64_t slack = evidence->info.slack, end = truth->close_before;
	uint64_t from_ns, to_ns;
	int failed = 0;

	for (size_t cursor = 0; !failed && jp_evidence_next_known_window(
						   evidence, truth->pid, truth->open_before,
						   truth->open_after, &cursor, &from_ns, &to_ns);) {
		to_ns = jp_min(to_ns, end == UINT64_MAX ? end : end - jp_min(end, slack));
		if (from_ns < to_ns)
			failed = judge_window(coverage, truth, from_ns, to_ns);
	}
	return failed;
}

static bool is_executable_at(const struct jp_coverage *coverage, uint32_t pid, uint64_t addr,
			     uint64_t time)
{
	const struct jp_box box = {addr, addr + 1, time,
				   time + coverage->view->evidence->info.slack};
	size_t cursor = 0;

	return jp_spans_next(coverage->view->truth, pid, &box, &cursor);
}

/* A piece of a span of the capture that lasts longer than the truth's span. */
struct stale_piece {
	uint64_t start, end;
	const struct jp_span *last_span; /* the truth's last span at that address */
	bool recorded_later;             /* the capture's record came after @last_span had ended */
};

/* Returns whether @recorded contains, within [@from_ns, @to_ns), memory of @truth that no
 * longer exists. Stores that part in *@piece. */
static bool is_stale(const struct jp_coverage *coverage, const struct jp_span *recorded,
		     const struct jp_span *truth, uint64_t from_ns, uint64_t to_ns,
		     struct stale_piece *piece)
{
	const uint64_t slack = coverage->view->evidence->info.slack,
		       mapped_time = recorded->mapping.since;
	uint64_t start = jp_max(truth->mapping.start, recorded->mapping.start);
	uint64_t end = jp_min(truth->mapping.end, recorded->mapping.end);
	uint64_t gone_at = truth->close_after;
	bool recorded_later;

	if (start >= end || gone_at == UINT64_MAX)
		return false;
	gone_at = jp_max(gone_at + slack, from_ns);
	if (gone_at >= to_ns)
		return false;
	start = jp_gaps_find_first(&coverage->gaps, truth->pid, start, end, gone_at);
	if (start == end)
		return false;
	truth = jp_coverage_find_ended(coverage, truth->pid, start, gone_at);
	/* A record that came after the end of @truth is wrong, unless it describes a later mapping.
	 * A record from before the end is stale, even if a part of its mapping is younger. */
	recorded_later = mapped_time > truth->close_after + slack;
	*piece = (struct stale_piece){start, end, truth, recorded_later};
	return !recorded_later || !is_executable_at(coverage, recorded->pid, start, mapped_time);
}

/* Returns the start of the process that inherited @recorded by a fork, in ns, or 0 if @recorded is
 * a record of its own process. */
static uint64_t find_inheriting_process(const struct jp_evidence *evidence,
					const struct jp_span *recorded)
{
	const struct jp_truth_incarnation *incarnations = evidence->truth->incarnations;
	const uint64_t slack = evidence->info.slack;
	size_t i;

	jp_search(i, evidence->truth->nr_incarnations,
		  incarnations[i].pid < recorded->pid ||
			  (incarnations[i].pid == recorded->pid &&
			   incarnations[i].before <= recorded->open_before + slack));
	return i && incarnations[i - 1].pid == recorded->pid &&
			       recorded->mapping.since + slack < incarnations[i - 1].before
		       ? incarnations[i - 1].before
		       : 0;
}

/* Returns whether the record of @recorded was reported for the end of @ended before: later records
 * cut a record into several spans. Otherwise notes that it is. Returns -ENOMEM if out of memory. */
static int was_reported(struct jp_coverage *coverage, const struct jp_span *recorded,
			const struct jp_span *ended)
{
	const uint64_t record = recorded->mapping.since + 1;
	uint64_t *last = jp_map_at(&coverage->reported,
				   (uint64_t)(ended - coverage->view->truth->spans), sizeof(*last));
	const bool is_repeated = last && *last == record;

	if (!last)
		return -ENOMEM;
	*last = record;
	return is_repeated;
}

/* Reports the first stale piece of @recorded. The kernel records no munmap(), so such spans stay
 * until another record covers them. */
static int judge_stale_mapping(struct jp_coverage *coverage, const struct jp_span *recorded,
			       uint64_t from_ns, uint64_t to_ns)
{
	const struct jp_evidence *evidence = coverage->view->evidence;
	const struct jp_mapping *mapping = &recorded->mapping;
	struct jp_box box = {mapping->start, mapping->end, 0,
			     jp_min(recorded->close_before, to_ns)};
	const struct jp_span *truth, *first = NULL;
	struct stale_piece stale, piece;
	const char *cause;
	int ret;

	from_ns = jp_max(recorded->open_before, from_ns);
	to_ns = box.end_time;
	if (from_ns >= to_ns)
		return 0;
	/* If all of the mapping is right at @from_ns, earlier ends do not matter. */
	if (jp_gaps_find_first(&coverage->gaps, recorded->pid, mapping->start, mapping->end,
			       from_ns) == mapping->end)
		box.start_time = from_ns - jp_min(from_ns, evidence->info.slack);
	/* An earlier process of the pid did not end memory that a later one inherits. */
	box.start_time = jp_max(box.start_time, find_inheriting_process(evidence, recorded));
	for (size_t cursor = 0;
	     (truth = jp_spans_next(coverage->view->truth, recorded->pid, &box, &cursor));) {
		if ((first && truth > first) ||
		    !is_stale(coverage, recorded, truth, from_ns, to_ns, &piece))
			continue;
		first = truth;
		stale = piece;
		box.end_time = truth->open_before;
	}
	ret = first ? was_reported(coverage, recorded, stale.last_span) : 1;
	if (ret)
		return ret < 0 ? ret : 0;
	coverage->stale++;
	cause = stale.recorded_later
			? "invented"
			: jp_unmapped_why_stale(evidence, recorded->pid, stale.start,
						stale.last_span->close_before, from_ns);
	return report(coverage, "coverage.stale", cause, stale.last_span, stale.start, stale.end,
		      from_ns, "still known as executable after its end");
}

/* Returns whether @recorded may describe executable memory of @pid that existed before @act. If so,
 * @recorded is stale but not wrong. */
static bool may_describe_earlier_memory(const struct jp_coverage *coverage,
					const struct jp_span *recorded, const struct jp_event *act,
					uint32_t pid)
{
	const uint64_t slack = coverage->view->evidence->info.slack,
		       mapped_time = recorded->mapping.since;
	const struct jp_box box = {act->map.addr, act->map.addr + act->map.len,
				   mapped_time - jp_min(mapped_time, slack), act->after};
	const struct jp_span *truth;

	for (size_t cursor = 0; (truth = jp_spans_next(coverage->view->truth, pid, &box, &cursor));)
		if (truth->close_before <= act->after && mapped_time <= truth->close_after + slack)
			return true;
	return false;
}

/* Reports @recorded if it presents as executable memory that, according to the truth, was mapped
 * without PROT_EXEC and not changed since, for example the writable view of code. */
static int judge_invented_mapping(struct jp_coverage *coverage, const struct jp_span *recorded,
				  uint64_t begin, uint64_t end_of_window)
{
	const uint64_t slack = coverage->view->evidence->info.slack;
	const uint64_t from_ns = jp_max(recorded->open_before, begin);
	const struct jp_mapping *mapping = &recorded->mapping;
	const struct jp_box box = {mapping->start, mapping->end, from_ns,
				   jp_min(recorded->close_before, end_of_window)};
	const struct jp_plains *plains = &coverage->plains;
	size_t first = plains->count, i;
	const struct jp_event *act;
	struct jp_span span;

	for (size_t cursor = 0;
	     jp_boxes_find_next(&plains->boxes, recorded->pid, &box, &cursor, &i);) {
		uint64_t to_ns = plains->list[i].untouched;

		act = plains->list[i].act;
		to_ns = jp_min(to_ns - (to_ns == UINT64_MAX ? 0 : jp_min(to_ns, slack)),
			       end_of_window);
		if (i < first &&
		    jp_max(from_ns, act->after + slack) < jp_min(to_ns, recorded->close_before) &&
		    !may_describe_earlier_memory(coverage, recorded, act, act->pid) &&
		    !may_describe_earlier_memory(coverage, recorded, act, mapping->pid))
			first = i;
	}
	if (first == plains->count)
		return 0;
	act = plains->list[first].act;
	span = (struct jp_span){.pid = act->pid,
				.mapping = {.start = act->map.addr,
					    .end = act->map.addr + act->map.len,
					    .name = act->map.name},
				.open_after = act->after};
	coverage->stale++;
	return report(coverage, "coverage.stale", "not-executable", &span,
		      jp_max(act->map.addr, mapping->start),
		      jp_min(act->map.addr + act->map.len, mapping->end), from_ns,
		      "known as executable, which it never was");
}

static int judge_recorded_mapping(struct jp_coverage *coverage, const struct jp_span *recorded)
{
	uint64_t from_ns, to_ns;
	int failed = 0;

	for (size_t cursor = 0;
	     !failed && jp_evidence_next_window(coverage->view->evidence, recorded->pid, &cursor,
						&from_ns, &to_ns);)
		failed = judge_stale_mapping(coverage, recorded, from_ns, to_ns)
				 ?: judge_invented_mapping(coverage, recorded, from_ns, to_ns);
	return failed;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	const struct jp_evidence *evidence = view->evidence;
	struct jp_coverage *coverage = view->state;

	return jp_plains_collect(evidence->truth, &coverage->plains);
}

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	return event->type == JP_EVENT_SAMPLE ? jp_coverage_sample(view->state, event) : 0;
}

static const struct jp_role known_memory = {.faults = "mapped"};
static const struct jp_role mapped_samples = {.bound = JP_SOME_N, .column = "mapped"};

static int end(struct jp_view *view, struct jp_error *err)
{
	struct jp_coverage *coverage = view->state;
	struct jp_findings *findings = &view->findings;
	int failed = 0;

	for (size_t i = 0; !failed && i < view->truth->count; i++)
		failed = judge_span(coverage, &view->truth->spans[i]);
	failed = failed
			 ?: jp_gaps_compute(view->truth, coverage->view->evidence->info.slack,
					    &coverage->gaps);
	for (size_t i = 0; !failed && i < view->recorded->count; i++)
		failed = judge_recorded_mapping(coverage, &view->recorded->spans[i]);
	if (!failed)
		failed = jp_findings_append(findings, &coverage->by_samples);
	if (failed)
		return failed;
	jp_findings_add_role_rate(findings, &mapped_samples, "coverage.samples",
				  coverage->samples_known, coverage->samples);
	jp_findings_add_count(findings, "coverage.unmapped",
			      coverage->samples - coverage->samples_known);
	/* in KiB x ms: counts exactly, and is still small enough to add up */
	jp_findings_add_role_rate(findings, &jp_counts_some, "coverage.area",
				  coverage->known_area * 1e3 / 1024,
				  coverage->true_area * 1e3 / 1024);
	jp_findings_add_count(findings, "coverage.stray", coverage->stray_samples);
	jp_findings_add_role_count(findings, &known_memory, "coverage.missing", coverage->missing);
	jp_findings_add_role_count(findings, &known_memory, "coverage.late", coverage->late);
	jp_findings_add_count(findings, "coverage.late_ns", coverage->late_ns);
	jp_findings_add_count(findings, "coverage.stale", coverage->stale);
	jp_findings_add_count(findings, "coverage.identity", coverage->identity);
	return 0;
}

static void free_coverage(void *state)
{
	struct jp_coverage *coverage = state;

	jp_findings_free(&coverage->by_samples);
	free(coverage->closed);
	free(coverage->spans);
	jp_plains_free(&coverage->plains);
	jp_gaps_free(&coverage->gaps);
	jp_map_free(&coverage->reported);
}

JP_DEFINE(validator, mapping_coverage) = {
	.name = "mapping_coverage",
	.traits = JP_LACKS_RECORDS | JP_LACKS_REGISTERS | JP_LACKS_NAMES,
	.state_size = sizeof(struct jp_coverage),
	.begin = begin,
	.handle = handle_event,
	.end = end,
	.free = free_coverage,
};
