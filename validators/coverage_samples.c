// SPDX-License-Identifier: GPL-2.0-only
#include "validators/coverage.h"

#include <errno.h>
#include <inttypes.h>

#include "harness/base/array.h"
#include "harness/base/search.h"

/* Returns a span of the truth that may contain @ip at @time, or NULL. If there are several: the
 * first that is identical to @mapping, else the last. */
static const struct jp_span *find_span(const struct jp_coverage *coverage, uint32_t pid,
				       uint64_t ip, uint64_t time, const struct jp_mapping *mapping)
{
	const struct jp_box box = {ip, ip + 1, time, time};
	const struct jp_span *span, *last = NULL, *identical = NULL;

	for (size_t cursor = 0;
	     (span = jp_spans_next(coverage->view->truth, pid, &box, &cursor));) {
		if (!last || span > last)
			last = span;
		if ((!identical || span < identical) && mapping &&
		    jp_coverage_is_same_mapping(&span->mapping, mapping, ip))
			identical = span;
	}
	return identical ?: last;
}

/* Reports a sample for which the truth has no mapping or no code. */
static int report_stray_sample(struct jp_coverage *coverage, const struct jp_event *event,
			       uint64_t ip, const char *cause, const char *text)
{
	coverage->stray_samples++;
	return jp_findings_count_failure(&coverage->by_samples, "coverage.stray", cause,
					 "sample at %" PRIu64 ", %u/%u, ip %" PRIx64 ": %s",
					 event->time, event->pid, event->tid, ip, text);
}

/* Returns whether the thread was in the kernel for a page fault at @ip: samples of the kernel's
 * fault handler have the thread's user registers. */
static bool is_in_page_fault(const struct jp_coverage *coverage, const struct jp_event *event,
			     uint64_t ip)
{
	const struct jp_truth *truth = coverage->view->evidence->truth;
	uint64_t slack = coverage->view->evidence->info.slack;

	for (size_t i = 0; jp_groups_next(&truth->acts_of.processes, event->pid, &i); i++) {
		const struct jp_event *act = &truth->acts[i];

		if (act->before > event->time + slack)
			break;
		if (act->type == JP_EVENT_WAIT && act->tid == event->tid && act->wait.addr == ip &&
		    event->time <= act->after + slack)
			return true;
	}
	return false;
}

/* Returns whether an mprotect() of @pid began at @time. */
static bool has_protect_at(const struct jp_truth *truth, uint32_t pid, uint64_t time)
{
	size_t i;

	jp_search(i, truth->nr_acts, truth->acts[i].before < time);
	for (; i < truth->nr_acts && truth->acts[i].before == time; i++)
		if (truth->acts[i].type == JP_EVENT_PROTECT && truth->acts[i].pid == pid)
			return true;
	return false;
}

/* Returns the cause why the truth has code but no mapping at @ip, or NULL if out of memory. The CPU
 * takes an interrupt before the fetch that would fault, so a thread that returns to pages which
 * were closed meanwhile can be sampled there once without a fault. */
static const char *find_unmapped_cause(struct jp_coverage *coverage, const struct jp_event *event,
				       uint64_t ip)
{
	const struct jp_span *closed =
		jp_coverage_find_ended(coverage, event->pid, ip, event->time);
	bool was_closed = closed && has_protect_at(coverage->view->evidence->truth, event->pid,
						   closed->close_before);
	struct jp_closed_sample *sample;

	for (size_t i = 0; i < coverage->nr_closed; i++)
		if (coverage->closed[i].tid == event->tid && coverage->closed[i].span == closed)
			was_closed = false;
	if (!was_closed)
		return "no-mapping";
	sample = jp_array_push(&coverage->closed, &coverage->nr_closed, &coverage->closed_capacity);
	if (!sample)
		return NULL;
	*sample = (struct jp_closed_sample){event->tid, closed};
	return "closed";
}

int jp_coverage_sample(struct jp_coverage *coverage, const struct jp_event *event)
{
	const struct jp_truth *truth = coverage->view->evidence->truth;
	const struct jp_span *span;
	const struct jp_mapping *mapping;
	uint64_t ip, sp, time = event->time, slack = coverage->view->evidence->info.slack;
	const char *cause;

	if (!jp_machine_user(coverage->view->machine, event, &ip, &sp)) {
		ip = event->sample.ip;
		if (!event->sample.user || !find_span(coverage, event->pid, ip, time, NULL))
			return 0;
		return report_stray_sample(coverage, event, ip, "no-registers",
					   "in emitted code's memory, without registers");
	}
	mapping = jp_replay_find(coverage->view->spaces, event->pid, ip);
	span = find_span(coverage, event->pid, ip, time, mapping);
	if (!jp_truth_code_at(truth, event->pid, ip, time)) {
		if (!span || jp_truth_code_at(truth, event->pid, ip, time + slack) ||
		    jp_truth_code_at(truth, event->pid, ip, time < slack ? 0 : time - slack))
			return 0;
		return report_stray_sample(
			coverage, event, ip, "no-code",
			"in emitted code's memory, where the truth has no function");
	}
	if (!span && is_in_page_fault(coverage, event, ip))
		return 0;
	coverage->samples++;
	if (!span) {
		cause = find_unmapped_cause(coverage, event, ip);
		return !cause ? -ENOMEM
			      : report_stray_sample(
					coverage, event, ip, cause,
					"in a function for which the truth has no mapping");
	}
	/* If @mapping differs, judge_piece() in mapping_coverage.c reports the mapping. */
	if (mapping && mapping->prot & JP_PROT_EXEC &&
	    jp_coverage_is_same_mapping(&span->mapping, mapping, ip))
		coverage->samples_known++;
	return 0;
}
