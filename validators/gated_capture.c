// SPDX-License-Identifier: GPL-2.0-only
/* Gated captures: judges for each announced process which of its mappings the capture has when the
 * process's interval begins, whether all its samples lie in the interval, and how long it waited
 * for the gate. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/model/space/mapping_name.h"
#include "harness/base/order.h"
#include "harness/base/search.h"
#include "harness/base/sort.h"
#include "harness/judge/unmapped.h"
#include "harness/judge/validator.h"
#include "validators/gate_names.h"

/* Largest number of processes with metrics of their own; the sums count all processes. */
enum { MOST_LISTED = 64 };

struct process {
	uint64_t end; /* end of its last interval, in ns; 0: it had none */
	uint64_t mmap2, comm, samples, mapped, named;
};

struct gated {
	struct jp_view *view;
	struct process *processes;
	size_t nr_begun,
		nr_ended; /* number of intervals that began, or ended, before the current event */
	uint64_t nr_older, nr_older_known, nr_inside, nr_inside_known, nr_outside;
	char first_outside[160];
};

/* Returns the announced process to which a record of @pid belongs. Its mappings may come before its
 * announcement; after its interval the pid may be reused. */
static struct process *find_process(struct gated *gated, uint32_t pid, uint64_t time)
{
	const struct jp_intervals *intervals = &gated->view->evidence->intervals;
	struct process *last = NULL;

	for (size_t i = 0; i < intervals->nr_processes; i++) {
		if (intervals->processes[i].pid != pid)
			continue;
		last = &gated->processes[i];
		if (time <= last->end)
			return last;
	}
	return last;
}

/* Returns whether @mapping may be the file of @map. A record with a build id has no inode. */
static bool may_be_same_file(const struct jp_mapping *mapping, const struct jp_procmap *map)
{
	return mapping->build_id ||
	       (mapping->ino == map->ino && mapping->maj == map->maj && mapping->min == map->min);
}

/* Returns whether the capture has @map with its attributes. @loaded_end: end of the memory that the
 * program loader may have mapped at once with @map; no record describes its later changes. */
static bool has_mapping(struct gated *gated, uint32_t pid, const struct jp_procmap *map,
			uint64_t loaded_end)
{
	const struct jp_mapping *mapping = jp_replay_find(gated->view->spaces, pid, map->start);

	return mapping && (mapping->prot & JP_PROT_EXEC) && mapping->start == map->start &&
	       mapping->end >= map->end && mapping->end <= loaded_end &&
	       may_be_same_file(mapping, map) && (!map->ino || mapping->pgoff == map->offset) &&
	       mapping->backing == jp_mapping_backing(map->name) &&
	       (!map->ino || jp_mapping_same_name(mapping->name, map->name));
}

/* Judges the mappings and the name that the process had when its interval began. */
static int judge_memory_before_interval(struct gated *gated, const struct jp_interval *interval)
{
	const struct jp_evidence *evidence = gated->view->evidence;
	const struct jp_snapshot *snapshot = jp_evidence_find_snapshot_at_announcement(
		evidence, &evidence->intervals.processes[interval->process]);
	const struct jp_control *unnamed;
	char reason[256];
	int failed = 0;

	for (size_t i = 0; snapshot && i < snapshot->count && !failed; i++) {
		const struct jp_procmap *map = &snapshot->maps[i];
		struct jp_unmapped unmapped;

		/* [vsyscall] has no record. */
		if (!(map->prot & JP_PROT_EXEC) || map->start >> 63)
			continue;
		gated->nr_older++;
		if (has_mapping(gated, interval->pid, map,
				jp_procmap_loaded_end(map, snapshot->count - i))) {
			gated->nr_older_known++;
			continue;
		}
		unmapped = jp_unmapped(evidence, gated->view->recorded, interval->pid, map->start,
				       interval->enabled);
		failed = jp_findings_count_failure(
			&gated->view->findings, "gated.older", unmapped.cause,
			"%" PRIx64 "-%" PRIx64 " %s of pid %u is not known when "
			"its interval begins; %s",
			map->start, map->end, map->name, interval->pid,
			jp_unmapped_text(&unmapped, reason, sizeof(reason)));
	}
	if (failed || *jp_replay_comm(gated->view->spaces, interval->pid))
		return failed;
	unnamed = jp_control_find_missing_thread(evidence, interval->pid);
	return jp_findings_count_failure(
		&gated->view->findings, "gated.named", unnamed ? unnamed->name : "nothing",
		"pid %u has no name when its interval begins", interval->pid);
}

/* Counts memory that became executable during the interval: with every gate, the capture must have
 * a record of such memory. */
static void judge_new_memory_in_interval(struct gated *gated, const struct jp_interval *interval)
{
	const struct jp_truth *truth = gated->view->evidence->truth;
	size_t i;

	jp_search(i, truth->nr_acts, truth->acts[i].before < interval->enabled);
	for (; jp_groups_next(&truth->acts_of.processes, interval->pid, &i) &&
	       truth->acts[i].before <= interval->disabling;
	     i++) {
		const struct jp_event *act = &truth->acts[i];
		const struct jp_mapping *mapping;

		if (act->after > interval->disabling || !(act->map.prot & JP_PROT_EXEC) ||
		    (act->type != JP_EVENT_MAP && act->type != JP_EVENT_PROTECT))
			continue;
		mapping = jp_replay_find(gated->view->spaces, act->pid, act->map.addr);
		gated->nr_inside++;
		gated->nr_inside_known += mapping && (mapping->prot & JP_PROT_EXEC) &&
					  mapping->end >= act->map.addr + act->map.len;
	}
}

/* Judges the intervals that began or ended before @time. */
static int judge_intervals(struct gated *gated, uint64_t time)
{
	const struct jp_intervals *intervals = &gated->view->evidence->intervals;
	int failed = 0;

	while (!failed) {
		size_t *next =
			gated->nr_begun > gated->nr_ended ? &gated->nr_ended : &gated->nr_begun;
		const struct jp_interval *interval;

		if (*next == intervals->nr_intervals)
			return 0;
		interval = &intervals->intervals[*next];
		if ((next == &gated->nr_begun ? interval->enabled : interval->disabling) >= time)
			return 0;
		if (next == &gated->nr_begun)
			failed = judge_memory_before_interval(gated, interval);
		else
			judge_new_memory_in_interval(gated, interval);
		++*next;
	}
	return failed;
}

static void judge_sample(struct gated *gated, const struct jp_event *event)
{
	const struct jp_evidence *evidence = gated->view->evidence;
	const struct jp_interval *interval =
		jp_intervals_find(&evidence->intervals, event->time, evidence->info.slack);
	const struct jp_mapping *mapping;
	struct process *process;

	/* Processes such as the runner may run during an interval, but no other benchmark. */
	if (!interval ||
	    (interval->pid != event->pid &&
	     (jp_intervals_find_process(&evidence->intervals, event->pid, event->time) ||
	      jp_truth_code_at(evidence->truth, event->pid, event->sample.ip, event->time)))) {
		if (!gated->nr_outside++)
			snprintf(gated->first_outside, sizeof(gated->first_outside),
				 "at %" PRIu64 ", %u/%u, ip %" PRIx64, event->time, event->pid,
				 event->tid, event->sample.ip);
		return;
	}
	if (interval->pid != event->pid || !event->sample.user)
		return;
	process = &gated->processes[interval->process];
	mapping = jp_replay_find(gated->view->spaces, event->pid, event->sample.ip);
	process->samples++;
	process->mapped += mapping && (mapping->prot & JP_PROT_EXEC);
	process->named += *jp_replay_comm(gated->view->spaces, event->pid) != 0;
}

static int advance_to(struct jp_view *view, uint64_t time)
{
	return judge_intervals(view->state, time);
}

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	struct gated *gated = view->state;
	struct process *process;

	if (event->type == JP_EVENT_SAMPLE) {
		judge_sample(gated, event);
		return 0;
	}
	process = find_process(gated, event->pid,
			       jp_gate_reported_time(gated->view->evidence, event));
	if (process && event->type == JP_EVENT_MAP)
		process->mmap2++;
	else if (process && event->type == JP_EVENT_COMM && event->pid == event->tid)
		process->comm++;
	return 0;
}

static void add_times(struct gated *gated, const char *interval, uint64_t *times, size_t count)
{
	char name[48];

	if (!count)
		return;
	jp_sort(times, count, jp_compare_by_value);
	snprintf(name, sizeof(name), "gate.%s_us.median", interval);
	jp_findings_add_count(&gated->view->findings, name, times[count / 2] / 1000);
	snprintf(name, sizeof(name), "gate.%s_us.max", interval);
	jp_findings_add_count(&gated->view->findings, name, times[count - 1] / 1000);
}

/* Adds how long the processes waited for the gate, and how long the gate took to answer. */
static int add_waits(struct gated *gated)
{
	static const char *const requests[] = {"announce", "start", "stop"};
	const struct jp_intervals *intervals = &gated->view->evidence->intervals;
	const struct jp_truth *truth = gated->view->evidence->truth;
	size_t capacity = intervals->nr_processes + truth->nr_acts + 1, count;
	uint64_t *times = malloc(capacity * sizeof(*times));
	char mark[32];

	if (!times)
		return -ENOMEM;
	for (size_t r = 0; r < sizeof(requests) / sizeof(requests[0]); r++) {
		snprintf(mark, sizeof(mark), "gate.%s", requests[r]);
		count = 0;
		for (size_t i = 0; i < truth->nr_acts; i++)
			if (truth->acts[i].type == JP_EVENT_MARK &&
			    !strcmp(truth->acts[i].mark.text, mark))
				times[count++] = truth->acts[i].after - truth->acts[i].before;
		add_times(gated, requests[r], times, count);
	}
	for (count = 0; count < intervals->nr_processes; count++)
		times[count] = intervals->processes[count].answer_time -
			       intervals->processes[count].announcement_time;
	add_times(gated, "keeper", times, count);
	free(times);
	return 0;
}

static void add_process(struct gated *gated, size_t index)
{
	const struct process *process = &gated->processes[index];
	struct jp_findings *findings = &gated->view->findings;
	char name[48];

	snprintf(name, sizeof(name), "process.%zu.mmap2", index + 1);
	jp_findings_add_count(findings, name, process->mmap2);
	snprintf(name, sizeof(name), "process.%zu.comm", index + 1);
	jp_findings_add_count(findings, name, process->comm);
	snprintf(name, sizeof(name), "process.%zu.mapped", index + 1);
	jp_findings_add_rate(findings, name, process->mapped, process->samples);
	snprintf(name, sizeof(name), "process.%zu.named", index + 1);
	jp_findings_add_rate(findings, name, process->named, process->samples);
}

static void add_metrics(struct gated *gated)
{
	const size_t count = gated->view->evidence->intervals.nr_processes;
	struct jp_findings *findings = &gated->view->findings;
	struct process sum = {0};
	uint64_t mmap2[2] = {UINT64_MAX, 0}, comm[2] = {UINT64_MAX, 0};

	for (size_t i = 0; i < count; i++) {
		const struct process *process = &gated->processes[i];

		if (i < MOST_LISTED)
			add_process(gated, i);
		sum.samples += process->samples;
		sum.mapped += process->mapped;
		sum.named += process->named;
		mmap2[0] = jp_min(mmap2[0], process->mmap2);
		mmap2[1] = jp_max(mmap2[1], process->mmap2);
		comm[0] = jp_min(comm[0], process->comm);
		comm[1] = jp_max(comm[1], process->comm);
	}
	jp_findings_add_count(findings, "gated.processes", count);
	jp_findings_add_count(findings, "gated.least.mmap2", mmap2[0]);
	jp_findings_add_count(findings, "gated.most.mmap2", mmap2[1]);
	jp_findings_add_count(findings, "gated.least.comm", comm[0]);
	jp_findings_add_count(findings, "gated.most.comm", comm[1]);
	jp_findings_add_rate(findings, "gated.mapped", sum.mapped, sum.samples);
	jp_findings_add_rate(findings, "gated.named", sum.named, sum.samples);
	jp_findings_add_rate(findings, "gated.older", gated->nr_older_known, gated->nr_older);
	jp_findings_add_rate(findings, "gated.inside", gated->nr_inside_known, gated->nr_inside);
	jp_findings_add_count(findings, "gated.outside", gated->nr_outside);
}

/* Returns whether the truth has a @mark of @pid that contains [@from_ns, @to_ns]. */
static bool has_mark(const struct gated *gated, uint32_t pid, const char *mark, uint64_t from_ns,
		     uint64_t to_ns)
{
	const struct jp_truth *truth = gated->view->evidence->truth;
	const uint64_t slack = gated->view->evidence->info.slack;

	for (size_t i = 0; jp_groups_next(&truth->acts_of.processes, pid, &i); i++)
		if (truth->acts[i].type == JP_EVENT_MARK &&
		    !strcmp(truth->acts[i].mark.text, mark) &&
		    truth->acts[i].before <= from_ns + slack &&
		    to_ns <= truth->acts[i].after + slack)
			return true;
	return false;
}

/* Returns the name of a request of the interval that the process's truth does not confirm by a
 * mark, or NULL. */
static const char *find_unconfirmed_request(const struct gated *gated,
					    const struct jp_interval *interval)
{
	const struct jp_announced *process =
		&gated->view->evidence->intervals.processes[interval->process];

	if (!has_mark(gated, process->pid, "gate.announce", process->announcement_time,
		      process->answer_time))
		return "gate.announce";
	if (!has_mark(gated, interval->pid, "gate.start", interval->enabling, interval->enabled))
		return "gate.start";
	return has_mark(gated, interval->pid, "gate.stop", interval->disabling, interval->disabled)
		       ? NULL
		       : "gate.stop";
}

/* Makes the case an ERROR for contradictions that invalidate all other results. */
static void check_consistency(struct gated *gated)
{
	const struct jp_intervals *intervals = &gated->view->evidence->intervals;
	struct jp_findings *findings = &gated->view->findings;

	if (!intervals->nr_processes)
		snprintf(findings->error, sizeof(findings->error), "no process announced itself");
	for (size_t i = 0; i < intervals->nr_processes; i++) {
		const struct jp_announced *process = &intervals->processes[i];
		const char *missing =
			!gated->processes[i].end ? "had no interval"
			: !jp_evidence_find_snapshot_at_announcement(gated->view->evidence, process)
				? "has no maps"
				: NULL;

		if (missing && !*findings->error)
			snprintf(findings->error, sizeof(findings->error),
				 "process %zu (pid %u) announced itself and %s", i + 1,
				 process->pid, missing);
	}
	for (size_t i = 0; i < intervals->nr_intervals && !*findings->error; i++) {
		const char *request = find_unconfirmed_request(gated, &intervals->intervals[i]);

		if (request)
			snprintf(findings->error, sizeof(findings->error),
				 "interval %zu (pid %u) has no mark %s in the truth", i + 1,
				 intervals->intervals[i].pid, request);
	}
	if (gated->nr_outside && !*findings->error)
		snprintf(findings->error, sizeof(findings->error),
			 "%" PRIu64 " samples lie outside of the intervals, the first %s",
			 gated->nr_outside, gated->first_outside);
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	const struct jp_intervals *intervals = &view->evidence->intervals;
	struct gated *gated = view->state;

	if (!jp_evidence_is_gated(view->evidence))
		return 1;
	gated->processes = calloc(intervals->nr_processes + 1, sizeof(*gated->processes));
	if (!gated->processes)
		return jp_fail(err, ENOMEM, "%s: out of memory", view->evidence->dir);
	for (size_t i = 0; i < intervals->nr_intervals; i++)
		gated->processes[intervals->intervals[i].process].end =
			intervals->intervals[i].disabled;
	return 0;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	struct gated *gated = view->state;
	int failed = judge_intervals(gated, UINT64_MAX);

	if (!failed) {
		add_metrics(gated);
		check_consistency(gated);
		failed = add_waits(gated);
	}
	return failed ? jp_fail(err, ENOMEM, "%s: out of memory", view->evidence->dir) : 0;
}

static void free_gated(void *state)
{
	struct gated *gated = state;

	free(gated->processes);
}

JP_DEFINE(validator, gated_capture) = {
	.name = "gated_capture",
	.state_size = sizeof(struct gated),
	.begin = begin,
	.advance_to = advance_to,
	.handle = handle_event,
	.end = end,
	.free = free_gated,
};
