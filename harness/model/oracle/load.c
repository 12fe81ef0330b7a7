// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/oracle/collect.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/base/search.h"
#include "harness/base/sort.h"

static int end_image(void *context, struct jp_process *process, const struct jp_event *event)
{
	struct jp_truth_collector *collector = context;
	struct jp_truth_process *truth_process = (struct jp_truth_process *)process;
	if (jp_array_append(&collector->ends, &collector->nr_ends, &collector->ends_capacity,
			    (struct jp_truth_ending){event->pid, event->before, event->after}))
		return -ENOMEM;
	truth_process->ended = event->before;
	if (truth_process->incarnation) {
		collector->truth->incarnations[truth_process->incarnation - 1].until = event->after;
		/* An end has a duration only if another process records it, for a killed
		 * process. */
		collector->truth->incarnations[truth_process->incarnation - 1].killed =
			event->type == JP_EVENT_END && event->before < event->after;
		truth_process->last_ended = truth_process->incarnation;
	}
	truth_process->incarnation = 0;
	jp_truth_end_files(collector, truth_process, event);
	return jp_truth_end_codes(collector, truth_process, event);
}

static int inherit_process(void *context, struct jp_process *child, struct jp_process *parent,
			   const struct jp_event *event)
{
	struct jp_truth_process *process = (struct jp_truth_process *)child;
	struct jp_truth_process *from = (struct jp_truth_process *)parent;

	return jp_truth_inherit_codes(context, process, from, event)
		       ?: jp_truth_inherit_files(context, process, from, event);
}

static const struct jp_process_rules rules = {
	.size = sizeof(struct jp_truth_process), .end = end_image, .inherit = inherit_process};

static int follow_process(struct jp_truth_collector *collector, const struct jp_event *event)
{
	struct jp_truth *truth = collector->truth;
	int ret = jp_processes_apply(&collector->processes, event);
	struct jp_truth_incarnation *incarnation;
	struct jp_truth_process *process;

	if (ret || !jp_event_starts_process(event))
		return ret;
	process = (struct jp_truth_process *)jp_processes_at(&collector->processes, event->pid);
	incarnation = process ? jp_array_push(&truth->incarnations, &truth->nr_incarnations,
					      &collector->incarnations_capacity)
			      : NULL;
	if (!incarnation)
		return -ENOMEM;
	*incarnation = (struct jp_truth_incarnation){
		.pid = event->pid,
		.before = event->task.start_kind == JP_START_LAUNCH ? 0 : event->before,
		.after = event->after,
		.until = UINT64_MAX,
		.is_forked = event->type == JP_EVENT_FORK,
		.borrower = event->task.start_kind == JP_START_SHARE};
	process->incarnation = truth->nr_incarnations;
	return 0;
}

/* Extends the incarnation of a process that reported its own end: it existed in the kernel until
 * this event. */
static void extend_incarnation(struct jp_truth_collector *collector, const struct jp_event *event)
{
	const struct jp_truth_process *process =
		(struct jp_truth_process *)jp_processes_find(&collector->processes, event->pid);

	if (event->pid == event->tid && process && process->last_ended)
		collector->truth->incarnations[process->last_ended - 1].until = event->after;
}

JP_ORDER(compare_by_pid, struct jp_truth_incarnation,
	 jp_compare(a->pid, b->pid) ?: jp_compare(a->before, b->before));

static void sort_incarnations(struct jp_truth *truth)
{
	struct jp_truth_incarnation *incarnations = truth->incarnations;

	if (incarnations)
		jp_sort(incarnations, truth->nr_incarnations, compare_by_pid);
	/* An exec creates a new image of the same process. */
	for (size_t i = 0; i < truth->nr_incarnations; i++)
		incarnations[i].is_first = !i || incarnations[i].is_forked ||
					   incarnations[i - 1].pid != incarnations[i].pid;
}

static int visit_record(void *context, const struct jp_event *event)
{
	struct jp_truth_collector *collector = context;
	int ret = 0;

	switch (event->type) {
	case JP_EVENT_CODE_LOAD:
	case JP_EVENT_CODE_MOVE:
	case JP_EVENT_CODE_UNLOAD:
		return jp_truth_follow_code(collector, event);
	case JP_EVENT_ENTER:
		return jp_truth_follow_enter(collector, event);
	case JP_EVENT_LEAVE:
		return jp_truth_follow_leave(collector, event);
	case JP_EVENT_FILE:
		return jp_truth_follow_file(collector, event);
	case JP_EVENT_MAP:
	case JP_EVENT_REMAP:
	case JP_EVENT_UNMAP:
		ret = jp_truth_follow_file(collector, event);
		break;
	case JP_EVENT_GONE:
		extend_incarnation(collector, event);
		break;
	default:
		ret = follow_process(collector, event);
	}
	return ret
		       ?: jp_array_append(&collector->truth->acts, &collector->truth->nr_acts,
					  &collector->acts_capacity, *event);
}

/* Records the offset at which collecting failed. */
static int visit_known_record(void *context, const struct jp_event *event)
{
	struct jp_truth_collector *collector = context;
	int ret = visit_record(context, event);

	if (ret)
		collector->failed_at = event->file_offset;
	return ret;
}

static int collect_records(struct jp_truth *truth, const char *path, struct jp_error *err)
{
	struct jp_truth_collector collector = {.truth = truth};
	struct jp_truth_process *process;
	int ret;

	collector.processes.rules = &rules;
	collector.processes.context = &collector;
	ret = jp_truth_reader_visit(truth->reader, visit_known_record, &collector)
		      ?: jp_truth_build_codes(&collector)
		      ?: jp_truth_find_files(&collector)
		      ?: jp_truth_build_activations(&collector)
		      ?: jp_acts_at_index(&truth->acts_at, truth->acts, truth->nr_acts)
		      ?: jp_acts_of_index(&truth->acts_of, truth->acts, truth->nr_acts)
		      ?: jp_truth_check_code_is_mapped(&collector);
	sort_incarnations(truth);
	if (ret == -E2BIG)
		jp_fail(err, E2BIG,
			"%s: offset %llu: more forked code, forked files or moved paths than a "
			"truth can hold (%d codes, %d files, %d steps)",
			path, (unsigned long long)collector.failed_at, JP_TRUTH_MOST_CODES,
			JP_TRUTH_MOST_FILES, JP_TRUTH_MOST_STEPS);
	else if (ret)
		jp_fail(err, -ret, "%s: out of memory", path);
	for (size_t i = 0; i < collector.nr_versions; i++)
		free(collector.versions[i].codes);
	free(collector.activations);
	free(collector.versions);
	free(collector.ends);
	for (size_t cursor = 0; (process = (struct jp_truth_process *)jp_processes_next(
					 &collector.processes, &cursor));)
		jp_truth_drop_files(process);
	jp_processes_free(&collector.processes);
	jp_map_free(&collector.code_of);
	jp_map_free(&collector.version_of);
	jp_map_free(&collector.activation_of);
	return ret;
}

struct jp_truth *jp_truth_load(const char *path, struct jp_error *err)
{
	struct jp_truth *truth = calloc(1, sizeof(*truth));
	struct jp_truth_reader *reader = truth ? jp_truth_reader_open(path, err) : NULL;

	if (!truth)
		jp_fail(err, ENOMEM, "%s: out of memory", path);
	if (!reader) {
		free(truth);
		return NULL;
	}
	truth->reader = reader;
	truth->version = reader->version;
	if (collect_records(truth, path, err)) {
		jp_truth_free(truth);
		return NULL;
	}
	truth->e_machine = reader->e_machine;
	truth->records = reader->records;
	truth->overflow = reader->overflow;
	truth->strangers = reader->strangers;
	truth->disorder = reader->disorder;
	truth->overspent = reader->overspent;
	truth->unpaired = reader->unpaired;
	truth->torn += reader->torn;
	truth->gaps += reader->gaps;
	return truth;
}

void jp_truth_free(struct jp_truth *truth)
{
	if (!truth)
		return;
	jp_truth_reader_free(truth->reader);
	jp_acts_at_free(&truth->acts_at);
	jp_acts_of_free(&truth->acts_of);
	free(truth->acts);
	jp_truth_free_files(truth);
	free(truth->incarnations);
	free(truth->codes);
	free(truth->activations);
	free(truth->paths);
	free(truth->path_functions);
	free(truth->code_reach);
	free(truth);
}

const struct jp_truth_incarnation *jp_truth_image_at(const struct jp_truth *truth, uint32_t pid,
						     uint64_t time)
{
	const struct jp_truth_incarnation *incarnations = truth->incarnations;
	size_t i;

	jp_search(i, truth->nr_incarnations,
		  incarnations[i].pid < pid ||
			  (incarnations[i].pid == pid && incarnations[i].before <= time));
	return i && incarnations[i - 1].pid == pid ? &incarnations[i - 1] : NULL;
}
