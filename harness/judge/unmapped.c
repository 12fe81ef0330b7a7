// SPDX-License-Identifier: GPL-2.0-only
#include "harness/judge/unmapped.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/search.h"

/* Returns the time at which @pid began to execute the program (image) that it executes at @time,
 * according to the truth; 0: unknown. */
static uint64_t find_image_start(const struct jp_truth *truth, uint32_t pid, uint64_t time)
{
	const struct jp_truth_incarnation *image = jp_truth_image_at(truth, pid, time);

	return image ? image->before : 0;
}

/* Returns the last event of the truth until @time that mapped memory at @ip or changed its
 * protection, in the image that @pid has at @time, or NULL. */
static const struct jp_event *find_last_change(const struct jp_truth *truth, uint32_t pid,
					       uint64_t ip, uint64_t time)
{
	const struct jp_event *last = jp_acts_at_find_last(&truth->acts_at, pid, ip, time);

	return last && last->before >= find_image_start(truth, pid, time) ? last : NULL;
}

/* Returns the time since which the memory at @ip of @pid is in its state of @time, minus the
 * clocks' difference. @last: result of find_last_change(). */
static uint64_t find_state_start(const struct jp_evidence *evidence, const struct jp_event *last,
				 uint32_t pid, uint64_t time)
{
	const uint64_t start = last ? last->before : find_image_start(evidence->truth, pid, time);

	return start < evidence->info.slack ? 0 : start - evidence->info.slack;
}

/* Returns whether a snapshot of the process's maps, read after @act and before @time, contains
 * executable memory at @ip. */
static bool is_in_later_snapshot(const struct jp_evidence *evidence, const struct jp_event *act,
				 uint64_t ip, uint64_t time)
{
	for (size_t i = 0; i < evidence->snapshots.count; i++) {
		const struct jp_snapshot *snapshot = &evidence->snapshots.list[i];

		if (snapshot->pid == act->pid && snapshot->before >= act->after &&
		    snapshot->after <= time && jp_snapshot_executable(snapshot, ip))
			return true;
	}
	return false;
}

/* Returns whether a record from before the mremap() @act ended the mapping at @ip that a snapshot
 * shows. Records of a snapshot come first in a file, at time 0. So a record of the memory over
 * which the code moved, of before the snapshot, replaces the moved code. */
static bool is_ended_by_older_record(const struct jp_spans *spans, const struct jp_event *act,
				     uint64_t ip)
{
	for (size_t i = 0; i < spans->count; i++) {
		const struct jp_span *span = &spans->spans[i];

		if (span->pid == act->pid && !span->open_before &&
		    span->close_after <= act->after && ip >= span->mapping.start &&
		    ip < span->mapping.end)
			return true;
	}
	return false;
}

/* Returns whether the process that is @pid at @time was forked while a profiler attached, and has
 * not called exec. If the profiler enabled its events after the fork, only later mappings of the
 * process have records. The profiler states the end of the attach alone. */
static bool is_forked_while_attaching(const struct jp_evidence *evidence, uint32_t pid,
				      uint64_t time)
{
	const struct jp_truth_incarnation *image = jp_truth_image_at(evidence->truth, pid, time);

	return image && image->is_forked && !evidence->info.first_enabled &&
	       image->after > evidence->watched.started;
}

/* Returns whether the workload started @pid before the capture attached. An attach watches only the
 * workload's first process, so the capture has no mapping of @pid. */
static bool is_unwatched(const struct jp_evidence *evidence, const struct jp_spans *spans,
			 uint32_t pid, uint64_t time)
{
	const bool inherits = is_forked_while_attaching(evidence, pid, time);

	for (size_t i = 0; i < spans->count; i++)
		if (spans->spans[i].pid == pid && spans->spans[i].open_before <= time &&
		    !(inherits && spans->spans[i].mapping.pid == pid))
			return false;
	return jp_evidence_is_process_older(evidence, pid, time);
}

/* Returns the process that forked @pid before *@time, and stores the time of the fork in *@time.
 * Returns 0 if @pid has called exec since the fork. */
static uint32_t find_parent(const struct jp_truth *truth, uint32_t pid, uint64_t *time)
{
	const struct jp_event *start = NULL;

	for (size_t i = 0; jp_groups_next(&truth->acts_of.lifecycle, pid, &i); i++) {
		const struct jp_event *act = &truth->acts[i];

		if (act->before > *time)
			break;
		if (act->type == JP_EVENT_EXEC ||
		    (act->type == JP_EVENT_FORK && act->task.ppid != pid))
			start = act;
	}
	if (!start || start->type != JP_EVENT_FORK)
		return 0;
	*time = start->before;
	return start->task.ppid;
}

/* Returns whether a control left out the mapping at @left_out->ip in an ancestor from which
 * @left_out->pid inherited it. If so, fills @left_out. */
static bool is_left_out_above(struct jp_left_out *left_out, const struct jp_spans *spans,
			      uint64_t time)
{
	const struct jp_truth *truth = left_out->evidence->truth;
	struct jp_left_out above = *left_out;

	while ((above.pid = find_parent(truth, above.pid, &time))) {
		/* The child does not inherit what the ancestor mapped after the fork. */
		if (above.act && above.act->before >= time)
			return false;
		above.act = find_last_change(truth, above.pid, above.ip, time);
		if (jp_spans_has_opened(
			    spans, above.pid, above.ip,
			    find_state_start(above.evidence, above.act, above.pid, time), time))
			return false;
		if (!jp_control_find_missing_mapping(&above, time))
			continue;
		*left_out = above;
		return true;
	}
	return false;
}

/* Returns whether @act made memory executable while a profiler attached, which states only the time
 * at which its events were on: it may have read the maps before @act (perf.attach-window in
 * results/FINDINGS.md). */
static bool is_in_attach_window(const struct jp_evidence *evidence, const struct jp_event *act)
{
	return (act->type == JP_EVENT_MAP || act->type == JP_EVENT_PROTECT) &&
	       !evidence->info.first_enabled && evidence->watched.started &&
	       act->after >= evidence->watched.started && act->before <= evidence->info.enabled;
}

static bool closes(const struct jp_event *act)
{
	return act && act->type == JP_EVENT_PROTECT && !(act->map.prot & JP_PROT_EXEC);
}

/* Returns whether @last, the last change of the memory at @ip that began before @time, took the
 * permission to execute, or may not have given it back yet. */
static bool is_closed(const struct jp_evidence *evidence, const struct jp_event *last, uint64_t ip,
		      uint64_t time)
{
	const bool certain = !last || last->after + evidence->info.slack < time;

	return closes(last) ||
	       (!certain && last->before &&
		closes(find_last_change(evidence->truth, last->pid, ip, last->before - 1)));
}

struct jp_unmapped jp_unmapped(const struct jp_evidence *evidence, const struct jp_spans *spans,
			       uint32_t pid, uint64_t ip, uint64_t time)
{
	const struct jp_event *last = find_last_change(evidence->truth, pid, ip, time);
	struct jp_unmapped unmapped = {
		.cause = "no-record",
		.left_out = {.evidence = evidence, .pid = pid, .ip = ip, .act = last}};

	if (is_closed(evidence, last, ip, time)) {
		unmapped.cause = "closed";
		return unmapped;
	}
	if (jp_spans_has_opened(spans, pid, ip, find_state_start(evidence, last, pid, time), time))
		return unmapped;
	if (is_unwatched(evidence, spans, pid, time)) {
		unmapped.cause = "not-watched";
	} else if (jp_control_find_missing_mapping(&unmapped.left_out, time) ||
		   is_left_out_above(&unmapped.left_out, spans, time)) {
		unmapped.cause = unmapped.left_out.control->name;
	} else if (last) {
		if (last->type == JP_EVENT_REMAP &&
		    (!is_in_later_snapshot(evidence, last, ip, time) ||
		     is_ended_by_older_record(spans, last, ip)))
			unmapped.cause = "mremap";
		else if (is_in_attach_window(evidence, last))
			unmapped.cause = "window";
	} else {
		unmapped.sharer = jp_acts_at_find_sharer(&evidence->truth->acts_at, pid, ip, time);
		if (jp_spans_has_opened(spans, unmapped.sharer, ip, 0, time))
			unmapped.cause = "shared-mm";
		else if (unmapped.sharer && is_unwatched(evidence, spans, unmapped.sharer, time))
			unmapped.cause = "not-watched";
	}
	return unmapped;
}

const char *jp_unmapped_text(const struct jp_unmapped *unmapped, char *text, size_t size)
{
	const struct jp_left_out *left_out = &unmapped->left_out;

	if (left_out->control)
		left_out->control->describe(left_out, text, size);
	else if (strcmp(unmapped->cause, "shared-mm") == 0)
		snprintf(text, size,
			 "%" PRIx64 " was mapped by pid %u, which has the same address space: the "
			 "kernel's record contains only that pid",
			 left_out->ip, unmapped->sharer);
	else if (strcmp(unmapped->cause, "mremap") == 0)
		snprintf(text, size,
			 "mremap moved memory to %" PRIx64 " at %" PRIu64 ", which the kernel does "
			 "not record",
			 left_out->ip, left_out->act->before);
	else if (strcmp(unmapped->cause, "window") == 0)
		snprintf(text, size,
			 "%" PRIx64 " was mapped at %" PRIu64 ", while the profiler attached",
			 left_out->ip, left_out->act->before);
	else if (strcmp(unmapped->cause, "closed") == 0)
		snprintf(text, size,
			 "%" PRIx64 " was not executable around the mprotect at %" PRIu64,
			 left_out->ip, left_out->act->before);
	else if (strcmp(unmapped->cause, "not-watched") == 0)
		snprintf(text, size, "pid %u is older than the capture, which did not attach to it",
			 left_out->pid);
	else
		snprintf(text, size, "no valid mapping record contains %" PRIx64, left_out->ip);
	return text;
}

const char *jp_unmapped_why_stale(const struct jp_evidence *evidence, uint32_t pid, uint64_t addr,
				  uint64_t before, uint64_t time)
{
	const struct jp_control *control =
		jp_control_find_missing_exec(evidence, pid, before, time);
	const struct jp_truth *truth = evidence->truth;
	size_t i;

	if (control)
		return control->name;
	jp_search(i, truth->nr_acts, truth->acts[i].before < before);
	for (; i < truth->nr_acts && truth->acts[i].before == before; i++) {
		const struct jp_event *act = &truth->acts[i];

		if (act->pid != pid || addr - act->map.addr >= act->map.len)
			continue;
		if (act->type == JP_EVENT_UNMAP)
			return "munmap";
		if (act->type == JP_EVENT_REMAP)
			return "mremap";
		if (act->type == JP_EVENT_PROTECT)
			return "mprotect";
	}
	return "stale";
}
