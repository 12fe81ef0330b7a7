// SPDX-License-Identifier: GPL-2.0-only
#include "validators/coverage.h"

#include <errno.h>
#include <inttypes.h>

#include "harness/base/array.h"
#include "harness/base/search.h"

/* Returns the truth's executable mapping of @ip at @time, ends of brackets included, or NULL. If
 * several fit, prefers a mapping that is identical to @known. */
static const struct jp_span *span_at(const struct jp_coverage *coverage, uint32_t pid, uint64_t ip,
				     uint64_t time, const struct jp_mapping *known)
{
	const struct jp_box box = {ip, ip + 1, time, time};
	const struct jp_span *span, *last = NULL, *identical = NULL;

	for (size_t at = 0; (span = jp_spans_next(coverage->view->truth, pid, &box, &at));) {
		if (!last || span > last)
			last = span;
		if ((!identical || span < identical) && known &&
		    jp_coverage_identical(&span->mapping, known, ip))
			identical = span;
	}
	return identical ?: last;
}

/* Reports a sample for which the truth has no mapping, so that it does not count as outside of
 * emitted code. */
static int stray(struct jp_coverage *coverage, const struct jp_event *event, uint64_t ip,
		 const char *cause, const char *what)
{
	coverage->stray++;
	return jp_findings_except(&coverage->by_samples, "coverage.stray", cause,
				  "sample at %" PRIu64 ", %u/%u, ip %" PRIx64 ": %s", event->time,
				  event->pid, event->tid, ip, what);
}

/* Returns whether the thread waited at @ip, unable to continue: the kernel's part of a fault has
 * the thread's registers. */
static bool waits(const struct jp_coverage *coverage, const struct jp_event *event, uint64_t ip)
{
	const struct jp_truth *truth = coverage->evidence->truth;
	uint64_t slack = coverage->evidence->info.slack;

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

/* Returns whether an operation that began at @time took a permission away from @pid. */
static bool protects(const struct jp_truth *truth, uint32_t pid, uint64_t time)
{
	size_t i;

	jp_search(i, truth->nr_acts, truth->acts[i].before < time);
	for (; i < truth->nr_acts && truth->acts[i].before == time; i++)
		if (truth->acts[i].type == JP_EVENT_PROTECT && truth->acts[i].pid == pid)
			return true;
	return false;
}

/* Returns the cause why the truth has no mapping at @ip, where it has a function, or NULL if out of
 * memory. The CPU takes an interrupt before the fetch that would fault: a thread that returns to
 * pages which were closed meanwhile can be sampled there once, and need not fault any more. */
static const char *why_unmapped(struct jp_coverage *coverage, const struct jp_event *event,
				uint64_t ip)
{
	const struct jp_span *closed = jp_coverage_ended(coverage, event->pid, ip, event->time);
	bool taken_away =
		closed && protects(coverage->evidence->truth, event->pid, closed->close_before);
	struct jp_standing *standing;

	for (size_t i = 0; i < coverage->nr_standing; i++)
		if (coverage->standing[i].tid == event->tid &&
		    coverage->standing[i].closed == closed)
			taken_away = false;
	if (!taken_away)
		return "no-mapping";
	standing = jp_array_push(&coverage->standing, &coverage->nr_standing,
				 &coverage->standing_capacity);
	if (!standing)
		return NULL;
	*standing = (struct jp_standing){event->tid, closed};
	return "closed";
}

int jp_coverage_sample(struct jp_coverage *coverage, const struct jp_event *event)
{
	const struct jp_truth *truth = coverage->evidence->truth;
	const struct jp_span *span;
	const struct jp_mapping *known;
	uint64_t ip, sp, time = event->time, slack = coverage->evidence->info.slack;
	const char *cause;

	if (!jp_machine_user(coverage->view->machine, event, &ip, &sp)) {
		ip = event->sample.ip;
		if (!event->sample.user || !span_at(coverage, event->pid, ip, time, NULL))
			return 0;
		return stray(coverage, event, ip, "no-registers",
			     "in emitted code's memory, without the registers that tell more");
	}
	known = jp_replay_find(coverage->view->spaces, event->pid, ip);
	span = span_at(coverage, event->pid, ip, time, known);
	if (!jp_truth_code_at(truth, event->pid, ip, time)) {
		if (!span || jp_truth_code_at(truth, event->pid, ip, time + slack) ||
		    jp_truth_code_at(truth, event->pid, ip, time < slack ? 0 : time - slack))
			return 0;
		return stray(coverage, event, ip, "no-code",
			     "in emitted code's memory, where the truth has no function");
	}
	if (!span && waits(coverage, event, ip))
		return 0;
	coverage->samples++;
	if (!span) {
		cause = why_unmapped(coverage, event, ip);
		return !cause ? -ENOMEM
			      : stray(coverage, event, ip, cause,
				      "in a function for which the truth has no mapping");
	}
	/* If either fails, judge_piece() has reported the mapping already. */
	if (known && known->prot & JP_PROT_EXEC && jp_coverage_identical(&span->mapping, known, ip))
		coverage->samples_known++;
	return 0;
}
