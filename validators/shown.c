// SPDX-License-Identifier: GPL-2.0-only
/* Shown samples: programs that read a capture (readers) must show its samples as the file holds
 * them, because users see only what readers show (docs/readers.md). A reading is what one reader
 * shows of one file. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/map.h"
#include "harness/base/sort.h"
#include "harness/format/shown/shown.h"
#include "validators/sample_class.h"
#include "validators/shown_held.h"
#include "validators/shown_known.h"
#include "validators/shown_reading.h"

enum shown_metric { SAMPLES, TOP, NAMES, FRAMES, SHARES, METRICS };
static const char *const metric_names[METRICS] = {"shown.samples", "shown.top", "shown.names",
						  "shown.frames", "shown.shares"};

struct shown_state {
	struct jp_view *view;
	struct jp_shown_files files;
	struct jp_shown_reading *readings; /* one for each of the files */
	struct jp_code_loads loads;
	struct jp_incarnations incarnations;
	struct jp_file_finder *finder;
	struct jp_naming naming;
	struct jp_holder holder;
	struct jp_map tids; /* the workload's sampled threads: tid -> uint32_t pid */
	uint64_t nr_bad[METRICS], nr_judged[METRICS], nr_unwound;
};

/* The comparison of one sample with one reading. */
struct shown_comparison {
	struct shown_state *state;
	const struct jp_shown_reading *reading;
	const struct jp_held *held;
	const struct jp_shown_sample *sample;
	const struct jp_shown_frame *frames;
	struct jp_shown_fault fault;
	const char *first_cause; /* cause of the first difference */
};

static bool is_reading_of_injected_file(const struct jp_shown *shown)
{
	return strcmp(shown->file, "injected.data") == 0;
}

/* Counts @cause, or the finding that explains it, as an exception of @metric. */
static int report(struct shown_comparison *comparison, enum shown_metric metric,
		  struct jp_shown_difference difference, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static int report(struct shown_comparison *comparison, enum shown_metric metric,
		  struct jp_shown_difference difference, const char *fmt, ...)
{
	const struct jp_evidence *evidence = comparison->state->view->evidence;
	const struct jp_event *launch = jp_evidence_get_launch(evidence);
	const struct jp_event *event = comparison->held->event;
	const struct jp_shown *shown = comparison->reading->shown;
	const char *cause;
	char text[200];
	va_list args;

	difference.reader = shown->reader;
	difference.held = comparison->held;
	difference.is_late = comparison->held->is_late;
	difference.has_attached = launch && launch->before < evidence->info.enabled;
	cause = jp_shown_find_known_defect(&difference);
	comparison->state->nr_bad[metric]++;
	comparison->first_cause = comparison->first_cause ?: cause;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return jp_findings_count_failure(&comparison->state->view->findings, metric_names[metric],
					 cause, "%s, %s: at %" PRIu64 ", %u/%u, ip %" PRIx64 ": %s",
					 shown->reader, shown->file, event->time, event->pid,
					 event->tid, comparison->held->ip, text);
}

static int compare_top(struct shown_comparison *comparison)
{
	const struct jp_shown_frame *top = &comparison->sample->top;
	const struct jp_held *held = comparison->held;
	const bool is_user = held->event->sample.user;

	if (comparison->sample->has_top && !top->placed)
		return 0;
	comparison->state->nr_judged[TOP]++;
	if (is_user && !top->placed)
		return report(comparison, TOP, (struct jp_shown_difference){.cause = "no-address"},
			      "no address shown");
	if (is_user ? jp_shown_frame_has_address(
			      top, held->ip, false,
			      jp_replay_find_as_perf(comparison->state->view->spaces,
						     held->event->pid, held->ip))
		    : !top->placed)
		return 0;
	return report(comparison, TOP, (struct jp_shown_difference){.cause = "other-address"},
		      "shown at %" PRIx64, top->addr);
}

/* Returns the mapping that contains frame number @index of the held callchain or, if @is_unwound,
 * of the walk of the stack dump; NULL: none. */
static const struct jp_mapping *find_place(const struct shown_comparison *comparison,
					   bool is_unwound, uint32_t index)
{
	const struct jp_held *held = comparison->held;
	const uint64_t *frames = is_unwound ? held->dump : held->user_chain;

	if (index >= (is_unwound ? held->nr_dump : held->nr_user))
		return NULL;
	return jp_replay_find_as_perf(comparison->state->view->spaces, held->event->pid,
				      frames[index] - (index > 0));
}

/* Returns whether @mapping of the sampled process covers memory in which older code ended before
 * the sample. */
static bool is_reused(const struct shown_comparison *comparison, const struct jp_mapping *mapping)
{
	const struct jp_incarnations *incarnations = &comparison->state->incarnations;
	const struct jp_event *event = comparison->held->event;

	for (size_t i = jp_incarnations_find_from(incarnations, event->pid, mapping->start);
	     i < incarnations->count; i++) {
		const struct jp_truth_code *code = incarnations->incarnations[i].code;

		if (code->pid != event->pid || code->addr >= mapping->end)
			break;
		if (code->addr + code->size > mapping->start && code->ending < event->time)
			return true;
	}
	return false;
}

static int compare_frames(struct shown_comparison *comparison)
{
	const struct jp_held *held = comparison->held;
	struct jp_shown_fault *fault = &comparison->fault;
	const uint32_t skipped = held->chained && held->dump ? held->nr_user : 0;
	struct jp_shown_difference difference;
	const struct jp_mapping *place, *from;

	if (!held->chained && !held->dump)
		return 0;
	comparison->state->nr_judged[FRAMES]++;
	comparison->state->nr_unwound += held->dump != NULL;
	*fault = jp_shown_compare(comparison->state->view->spaces, held, comparison->frames,
				  (uint32_t)comparison->sample->count);
	if (!fault->cause)
		return 0;
	place = find_place(comparison, fault->is_unwound, fault->frame);
	from = fault->frame ? find_place(comparison, fault->is_unwound, fault->frame - 1) : NULL;
	difference = (struct jp_shown_difference){
		.cause = fault->cause,
		.fault = fault,
		.mapping = place ? place->name : "",
		.previous_mapping = from ? from->name : NULL,
		.reused = (place && is_reused(comparison, place)) ||
			  (from && is_reused(comparison, from)),
		.frame = fault->frame < fault->nr_shown
				 ? &comparison->frames[fault->frame +
						       (fault->is_unwound ? skipped : 0)]
				 : NULL};
	difference.file_is_gone = jp_shown_is_gone(&comparison->state->files, difference.mapping);
	return report(comparison, FRAMES, difference,
		      "%u frames shown of the %s, %u must be, equal up to frame %u (%.60s)",
		      fault->nr_shown, fault->is_unwound ? "unwound dump" : "callchain",
		      fault->nr_recorded, fault->frame, difference.mapping);
}

/* Judges the name that @frame shows for @addr, unless another name of the sample was wrong. */
static int compare_name(struct shown_comparison *comparison, const struct jp_shown_frame *frame,
			uint64_t addr, bool is_caller, bool *judged, bool *wrong)
{
	const char *cause =
		*wrong ? NULL
		       : jp_shown_name_cause(&comparison->state->naming, comparison->held->event,
					     frame, addr - is_caller, is_caller, judged);
	const struct jp_mapping *mapping;

	/* Other readers may know more than perf's rules do. */
	if (!cause || (strcmp(cause, "ours-lacks") == 0 &&
		       strncmp(comparison->reading->shown->reader, "perf ", 5) != 0))
		return 0;
	*wrong = true;
	mapping = jp_replay_find_as_perf(comparison->state->view->spaces,
					 comparison->held->event->pid, addr - is_caller);
	return report(comparison, NAMES,
		      (struct jp_shown_difference){.cause = cause,
						   .mapping = mapping ? mapping->name : ""},
		      "%.80s shown for %" PRIx64, frame->name ?: "no name", addr);
}

static int compare_names(struct shown_comparison *comparison)
{
	const struct jp_held *held = comparison->held;
	const struct jp_shown_fault *fault = &comparison->fault;
	const uint64_t *frames = held->dump && !held->chained ? held->dump : held->user_chain;
	uint32_t count = held->dump && !held->chained ? held->nr_dump : held->nr_user;
	const struct jp_shown_frame *top = &comparison->sample->top;
	bool is_judged = false, is_wrong = false;
	int failed = 0;

	if (held->event->sample.user && comparison->sample->has_top)
		failed = compare_name(comparison, top, held->ip, false, &is_judged, &is_wrong);
	/* The true addresses of frames after a difference are unknown. A wrong frame can have the
	 * right address relative to its file. */
	if (fault->cause && fault->frame < count)
		count = held->nr_mapped && held->nr_mapped < fault->frame ? held->nr_mapped
									  : fault->frame;
	if (comparison->sample->count < count)
		count = (uint32_t)comparison->sample->count;
	for (uint32_t i = 0; i < count && !failed; i++)
		failed = compare_name(comparison, &comparison->frames[i], frames[i], i > 0,
				      &is_judged, &is_wrong);
	comparison->state->nr_judged[NAMES] += is_judged;
	return failed;
}

static int compare_sample(struct shown_state *state, struct jp_shown_reading *reading,
			  struct jp_account *account, const struct jp_held *held)
{
	struct shown_comparison comparison = {.state = state, .reading = reading, .held = held};
	int failed = jp_shown_reading_find(reading, held->event, &comparison.sample);

	if (failed)
		return failed;
	if (!comparison.sample)
		return jp_account_count(account, "absent", 1);
	comparison.frames = reading->shown->frames + comparison.sample->first;
	failed = compare_top(&comparison) ?: compare_frames(&comparison)
			 ?: compare_names(&comparison);
	reading->equal += !comparison.first_cause;
	return failed ?: jp_account_count(account, comparison.first_cause ?: "equal", 1);
}

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	struct shown_state *state = view->state;
	struct jp_held held;
	int failed = 0;

	failed = jp_holder_apply_event(&state->holder, event);
	if (failed || event->type != JP_EVENT_SAMPLE || !event->record || event->observed)
		return failed;
	if (jp_sample_is_watched(view->evidence, event->pid, UINT64_MAX)) {
		uint32_t *pid = jp_map_at(&state->tids, event->tid, sizeof(*pid));

		if (!pid)
			return -ENOMEM;
		*pid = event->pid;
	}
	jp_holder_find(&state->holder, event, &held);
	for (size_t i = 0; i < state->files.count && !failed; i++)
		if (is_reading_of_injected_file(&state->files.files[i]) == view->in_injected &&
		    !state->files.files[i].older)
			failed = compare_sample(state, &state->readings[i],
						&view->findings.accounts.accounts[i], &held);
	return failed;
}

static int report_absent(struct shown_state *state, const struct jp_shown_reading *reading,
			 uint32_t pid, const struct jp_shown_absent *process)
{
	const struct jp_shown *shown = reading->shown;
	struct jp_shown_difference difference = {
		.reader = shown->reader,
		.cause = reading->nr_missing == reading->nr_recorded ? "unreadable"
			 : process->nr_absent == process->samples    ? "process"
								     : "absent",
		.failure = shown->failure,
		.is_injected_folder = shown->folder && strcmp(shown->file, "injected.data") == 0};
	const char *cause = jp_shown_find_known_defect(&difference);
	int failed = 0;

	for (uint64_t i = 0; i < process->nr_absent && !failed; i++)
		failed = jp_findings_count_failure(
			&state->view->findings, metric_names[SAMPLES], cause,
			"%s, %s: at %" PRIu64 ", %u/%u: not shown, as %" PRIu64 " of %" PRIu64
			" samples of the process%s%.180s",
			shown->reader, shown->file, process->time, pid, process->tid,
			process->nr_absent, process->samples, shown->failure ? ": " : "",
			shown->failure ?: "");
	return failed;
}

/* Reports samples of the file that @reading lacks, and samples of @reading that the file lacks. */
static int judge_reading(struct shown_state *state, struct jp_shown_reading *reading)
{
	const struct jp_shown *shown = reading->shown;
	const struct jp_shown_absent *process;
	const struct jp_shown_sample *sample;
	size_t cursor = 0;
	uint64_t pid;
	int failed = 0;

	while (!failed && (process = jp_map_next(&reading->absent_processes, &cursor, &pid)))
		failed = report_absent(state, reading, (uint32_t)pid, process);
	for (cursor = 0; !failed && (sample = jp_shown_reading_next_invented(reading, &cursor));
	     reading->nr_invented++)
		failed = jp_findings_count_failure(&state->view->findings, metric_names[SAMPLES],
						   "invented",
						   "%s, %s: line %zu: no such sample in the file",
						   shown->reader, shown->file, sample->line);
	if (!failed && shown->failure && !reading->nr_missing) {
		reading->nr_missing++;
		failed = jp_findings_count_failure(&state->view->findings, metric_names[SAMPLES],
						   "reader-failed", "%s, %s: %.250s", shown->reader,
						   shown->file, shown->failure);
	}
	state->nr_bad[SAMPLES] += reading->nr_missing + reading->nr_invented;
	state->nr_judged[SAMPLES] += reading->nr_recorded;
	return failed;
}

/* The number of samples of a thread in a function, by a reader's samples and by its shares. */
struct share_sums {
	uint32_t tid;
	const char *name;
	uint64_t samples, share;
};

JP_ORDER(compare_sums, struct share_sums, jp_compare(a->tid, b->tid) ?: strcmp(a->name, b->name));

/* Adds up the samples and the shares of @shown by thread and name of the function in user space.
 * Stores a new array in *@sums, which the caller frees. Returns its length, or -ENOMEM. */
static ssize_t sum_shares(const struct jp_shown *shown, struct share_sums **sums)
{
	struct share_sums *all = calloc(shown->count + shown->nr_shares + 1, sizeof(*all));
	size_t count = 0, nr_kept = 0;

	*sums = all;
	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < shown->count; i++)
		if (shown->samples[i].top.name)
			all[count++] = (struct share_sums){shown->samples[i].tid,
							   shown->samples[i].top.name, 1, 0};
	for (size_t i = 0; i < shown->nr_shares; i++)
		all[count++] = (struct share_sums){shown->shares[i].tid, shown->shares[i].name, 0,
						   shown->shares[i].samples};
	jp_sort(all, count, compare_sums);
	for (size_t i = 0; i < count; i++) {
		if (i && compare_sums(&all[nr_kept - 1], &all[i]) == 0) {
			all[nr_kept - 1].samples += all[i].samples;
			all[nr_kept - 1].share += all[i].share;
		} else {
			all[nr_kept++] = all[i];
		}
	}
	return (ssize_t)nr_kept;
}

/* Reports functions to which the reader's profile gives more or fewer samples than its samples do.
 * Leaves out other programs, whose files may vanish before the reader's second call, but not number
 * 0, of tasks outside of the profiler's pid namespace. */
static int judge_shares(struct shown_state *state, struct jp_shown_reading *reading)
{
	const struct jp_shown *shown = reading->shown;
	struct jp_shown_difference difference = {.reader = shown->reader};
	jp_cleanup_free struct share_sums *sums = NULL;
	const ssize_t count = shown->has_shares ? sum_shares(shown, &sums) : 0;
	int failed = count < 0 ? (int)count : 0;

	for (ssize_t i = 0; i < count && !failed; i++) {
		const uint32_t *pid = jp_map_find(&state->tids, sums[i].tid);

		if (sums[i].tid && !pid)
			continue;
		state->nr_judged[SHARES]++;
		if (sums[i].samples == sums[i].share)
			continue;
		difference.cause = sums[i].share < sums[i].samples ? "more-listed" : "fewer-listed";
		difference.is_late = jp_holder_is_late(&state->holder, sums[i].tid);
		difference.overlaps =
			pid && jp_shown_name_overlaps(&state->naming, *pid, sums[i].name);
		state->nr_bad[SHARES]++;
		reading->unequal_shares++;
		failed = jp_findings_count_failure(&state->view->findings, metric_names[SHARES],
						   jp_shown_find_known_defect(&difference),
						   "%s, %s: tid %u: its profile has %" PRIu64
						   " samples of %.80s, and it shows "
						   "%" PRIu64,
						   shown->reader, shown->file, sums[i].tid,
						   sums[i].share, sums[i].name, sums[i].samples);
	}
	return failed;
}

/* Judges one reading as a whole, and records whether it agrees with the file. */
static int end_reading(struct shown_state *state, size_t index)
{
	struct jp_view *view = state->view;
	struct jp_shown_reading *reading = &state->readings[index];
	const struct jp_shown *shown = reading->shown;
	struct jp_account *account = &view->findings.accounts.accounts[index];
	struct jp_reader reader = {.answer = JP_READER_OLDER};
	int failed = 0;

	snprintf(reader.name, sizeof(reader.name), "%s", shown->reader);
	snprintf(reader.file, sizeof(reader.file), "%s", shown->file);
	if (!shown->older) {
		account->total = is_reading_of_injected_file(shown)
					 ? view->injected_summary->samples
					 : view->summary->samples;
		failed = judge_reading(state, reading) ?: judge_shares(state, reading);
		reader.samples = reading->nr_recorded;
		reader.answer = reading->equal == reading->nr_recorded && !reading->nr_missing &&
						!reading->nr_invented && !reading->unequal_shares
					? JP_READER_AGREES
					: JP_READER_DIFFERS;
	}
	return failed ?: jp_findings_add_reader(&view->findings, &reader);
}

static int end(struct jp_view *view, struct jp_error *err)
{
	struct shown_state *state = view->state;
	int failed = 0;

	for (size_t i = 0; i < state->files.count && !failed; i++)
		failed = end_reading(state, i);
	for (int metric = 0; metric < METRICS; metric++)
		jp_findings_add_rate(&view->findings, metric_names[metric], state->nr_bad[metric],
				     state->nr_judged[metric]);
	jp_findings_add_count(&view->findings, "shown.unwound", state->nr_unwound);
	return failed;
}

/* Opens a reading and its account, which has the name of the reading's file in the folder. */
static int begin_reading(struct shown_state *state, size_t index)
{
	struct jp_shown *shown = &state->files.files[index];
	struct jp_account *account;
	char name[sizeof(shown->reader) + sizeof(shown->file) + 8];

	snprintf(name, sizeof(name), "shown %s %s", shown->reader, shown->file);
	account = jp_accounts_open(&state->view->findings.accounts, name);
	state->readings[index].shown = shown;
	return account ? jp_shown_reading_init(&state->readings[index]) : -ENOMEM;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	const struct jp_evidence *evidence = view->evidence;
	struct shown_state *state = view->state;
	int failed;

	failed = jp_shown_files_load(&state->files, evidence->dir, err);
	if (failed)
		return failed;
	/* Readings lack the records that judging a control adds back. */
	if (!state->files.count || view->added_back)
		return 1;
	failed = jp_code_loads_read(evidence->dir, &state->loads, err);
	if (failed)
		return failed;
	state->finder = jp_file_finder_of_run(evidence->dir);
	state->naming = (struct jp_naming){.view = view,
					   .names = jp_names_new(state->finder),
					   .loads = &state->loads,
					   .incarnations = &state->incarnations};
	state->holder =
		(struct jp_holder){.view = view, .loads = &state->loads, .files = &state->files};
	state->readings = calloc(state->files.count, sizeof(*state->readings));
	if (!state->finder || !state->naming.names || !state->readings ||
	    jp_holder_init(&state->holder) ||
	    jp_incarnations_collect(view, &state->loads, &state->incarnations))
		return jp_fail(err, ENOMEM, "%s: out of memory", evidence->dir);
	for (size_t i = 0; i < state->files.count && !failed; i++)
		failed = begin_reading(state, i);
	return failed;
}

static void free_state(void *context)
{
	struct shown_state *state = context;

	for (size_t i = 0; state->readings && i < state->files.count; i++)
		jp_shown_reading_free(&state->readings[i]);
	free(state->readings);
	jp_holder_free(&state->holder);
	jp_map_free(&state->tids);
	jp_incarnations_free(&state->incarnations);
	jp_code_loads_free(&state->loads);
	jp_names_free(state->naming.names);
	jp_file_finder_free(state->finder);
	jp_shown_files_free(&state->files);
}

JP_DEFINE(validator, shown) = {
	.name = "shown",
	.traits = JP_WANTS_INJECTED | JP_LACKS_ALL,
	.state_size = sizeof(struct shown_state),
	.begin = begin,
	.handle = handle_event,
	.end = end,
	.free = free_state,
};
