// SPDX-License-Identifier: GPL-2.0-only
/* Equal mappings: whenever the truth contains all maps of a process, and at the borders of the
 * window, the capture's executable mappings must be those of the truth. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/map.h"

#include "harness/base/sort.h"
#include "harness/judge/unmapped.h"
#include "harness/judge/validator.h"
#include "validators/mapping_compare.h"

#include "harness/model/oracle/executable_load.h"

/* End of user addresses. The kernel's [vsyscall] page lies above it: all maps show this page, but
 * no record does. */
#define USER_END (UINT64_C(1) << 63)

struct equal {
	struct jp_view *view;
	struct jp_replay *spaces; /* replay of the current file */
	bool injected;            /* the current file is injected.data */
	uint64_t removed,
		removed_files; /* bytes of the mappings that inject removed: all; of files */
	struct jp_executables truth;
	struct jp_mapping_points points;
	size_t next;
	struct jp_map listed; /* digests of reported differences */
	bool nothing;         /* the capture has no mapping of the process at this point */
	const struct jp_executable **current; /* executable pieces at a point, sorted by start */
	size_t nr_now, now_capacity;
	uint64_t *borders;
	size_t nr_borders, borders_capacity;
	uint64_t nr_marks, nr_equal, nr_compared,
		nr_unjudged; /* number of points; bytes of mappings */
	uint64_t nr_missing, nr_extra, nr_different;
	uint64_t nr_stated,
		untrue; /* mapping records of a stream; records whose mapping never existed */
};

/* A place at which the capture differs from the truth. */
struct mapping_difference {
	const char *metric, *cause;
	uint64_t start, end;
	const struct jp_executable *truth; /* NULL: the truth has no mapping */
	const struct jp_executable
		*last_true; /* the truth's last mapping at the address; NULL: none */
	const struct jp_mapping *recorded_mapping; /* NULL: the capture has no mapping */
};

/* A profiler's stream may omit mappings without samples, attributes of mappings, and unmapping. The
 * mappings that it contains must have existed with the stated file offset, by which symbols are
 * found. */
static const struct jp_role stated_mappings = {.column = "mapped"};
static const struct jp_role equal_records = {.faults = "mapped"};

/* Returns the cause why the capture still has @mapping at @time where the truth's last mapping was
 * @last (NULL: none). "invented": @mapping never existed. */
static const char *find_extra_cause(const struct equal *state, const struct jp_executable *last,
				    const struct jp_mapping *mapping, uint64_t time)
{
	const struct jp_control *control;

	if (!last || mapping->since > last->close_after + state->view->evidence->info.slack)
		return "invented";
	control = jp_control_find_missing_exec(state->view->evidence, last->pid, last->close_before,
					       time);
	if (control)
		return control->name;
	switch (last->closed_by) {
	case JP_EVENT_MAPS: /* a library was unloaded, which no operation reports */
		return "dlclose";
	case JP_EVENT_UNMAP:
		return "munmap";
	case JP_EVENT_REMAP:
		return "mremap";
	case JP_EVENT_PROTECT:
		return "mprotect";
	case JP_EVENT_MAP: /* the operation mapped memory that is not executable */
		return "not-executable";
	default:
		return "stale";
	}
}

/* Stores in *@first whether @difference has not been counted yet. A difference counts once for each
 * operation that caused it, because cases bound it by the number of operations. Without an
 * operation it counts once for each piece, once for a process without any mapping in the capture,
 * or once for each record. Returns 0 or -ENOMEM. */
static int mark_difference_counted(struct equal *state, uint32_t pid,
				   const struct mapping_difference *difference, bool *first)
{
	const struct jp_executable *truth = difference->truth, *last = difference->last_true;
	const bool is_extra = !truth && last && strcmp(difference->cause, "invented") != 0;
	uint64_t identity = is_extra         ? last->close_before
			    : state->nothing ? 0
			    : truth && !difference->recorded_mapping
				    ? (state->truth.memories[truth->memory].act
					       ? truth->open_before
					       : (uint64_t)(truth - state->truth.list))
				    : difference->recorded_mapping->record_offset;
	uint64_t kind = !truth ? 0 : difference->recorded_mapping ? 1 : state->nothing ? 3 : 2;
	uint64_t key = (uint64_t)(is_extra ? last->pid : pid) << 42 ^ identity << 2 ^ kind;
	uint64_t *listed = jp_map_at(&state->listed, key, sizeof(*listed));

	if (!listed)
		return -ENOMEM;
	*first = !*listed;
	*listed = 1;
	return 0;
}

static const char *get_name(const struct equal *state, const struct jp_executable *executable)
{
	const struct jp_memory *memory = &state->truth.memories[executable->memory];

	return memory->line && *memory->line->name     ? memory->line->name
	       : memory->act && *memory->act->map.name ? memory->act->map.name
						       : "(no name)";
}

/* Reports @difference and increments *@count, unless it is reported already. Returns 0 or
 * -ENOMEM. */
static int report(struct equal *state, const struct jp_mapping_point *point,
		  const struct mapping_difference *difference, uint64_t *count)
{
	const struct jp_executable *truth = difference->truth;
	const struct jp_mapping *mapping = difference->recorded_mapping;
	const struct jp_procmap *line = truth ? state->truth.memories[truth->memory].line : NULL;
	char shown_text[128] = "nothing", true_text[128] = "nothing";
	bool is_first;
	int failed = mark_difference_counted(state, point->pid, difference, &is_first);

	if (failed || !is_first)
		return failed;
	++*count;
	if (truth)
		snprintf(shown_text, sizeof(shown_text),
			 "%" PRIx64 "-%" PRIx64 " prot %u %c inode %" PRIu64 " %.60s", truth->start,
			 truth->end, truth->prot, line ? line->shared : '?', line ? line->ino : 0,
			 get_name(state, truth));
	if (mapping)
		snprintf(true_text, sizeof(true_text),
			 "%" PRIx64 "-%" PRIx64 " prot %u flags %x inode %" PRIu64
			 " %.60s of %" PRIu64,
			 mapping->start, mapping->end, mapping->prot, mapping->flags, mapping->ino,
			 mapping->name, mapping->since);
	return jp_findings_count_failure(
		&state->view->findings, difference->metric, difference->cause,
		"pid %u, %" PRIx64 "-%" PRIx64 " at %" PRIu64 ": there is %s; the capture has %s",
		point->pid, difference->start, difference->end, point->time, shown_text, true_text);
}

static bool certainly_exists(const struct equal *state, const struct jp_executable *executable,
			     uint64_t time)
{
	const uint64_t slack = state->view->evidence->info.slack;

	return executable->open_after + slack <= time &&
	       (executable->close_before == UINT64_MAX || time + slack <= executable->close_before);
}

/* Returns when the process that @pid named at @time started, in ns; 0: it was launched. */
static uint64_t find_start(const struct jp_truth *truth, uint32_t pid, uint64_t time)
{
	const struct jp_truth_incarnation *image = jp_truth_image_at(truth, pid, time);

	while (image && image->before && !image->is_first)
		image--;
	return image ? image->before : 0;
}

/* Returns the piece at @addr of @pid that ended last before @time, but not in an earlier process of
 * the same number, or NULL. */
static const struct jp_executable *find_last_ended(const struct equal *state, uint32_t pid,
						   uint64_t addr, uint64_t time)
{
	const uint64_t slack = state->view->evidence->info.slack;
	const uint64_t start = find_start(state->view->evidence->truth, pid, time);
	const struct jp_executable *executable, *last = NULL;
	size_t cursor = SIZE_MAX;

	while ((executable = jp_executables_next(&state->truth, pid, addr, addr + 1, &cursor)))
		if (executable->close_before > start && executable->close_after <= time + slack &&
		    (!last || executable->close_after > last->close_after))
			last = executable;
	return last;
}

/* Returns the first segment of a file that the program loader mapped as @mapping describes, at
 * least up to @end, or NULL. Of several, returns the last before @time: a pid may be reused. */
static const struct jp_executable *find_loaded_segment(const struct equal *state, uint32_t pid,
						       const struct jp_mapping *mapping,
						       uint64_t end, uint64_t time)
{
	/* The kernel may place [vdso] in a gap of the file, so that its mapping has two parts. */
	const uint64_t start = mapping->start - mapping->pgoff;
	const struct jp_executable *executable, *last = NULL;
	size_t cursor = SIZE_MAX;

	while ((executable = jp_executables_next(&state->truth, pid, start, start + 1, &cursor)))
		if (executable->open_before <= time + state->view->evidence->info.slack &&
		    jp_executable_is_loaded(&state->truth, executable, start, end) &&
		    state->truth.memories[executable->memory].line->ino == mapping->ino &&
		    (!last || executable->close_after > last->close_after))
			last = executable;
	return last;
}

/* Returns whether the capture can contain @truth. Only a snapshot shows the kernel's [vsyscall]
 * page, and a gate leaves it out. The record of a later exec discards the snapshot, whose records
 * come first. */
static bool is_visible(const struct equal *state, const struct jp_executable *truth, uint64_t time)
{
	const struct jp_capture_info *info = &state->view->evidence->info;
	const struct jp_snapshots *snapshots = &state->view->evidence->snapshots;

	if (truth->start < USER_END)
		return true;
	if (jp_evidence_is_gated(state->view->evidence) ||
	    truth->open_after >= (info->first_enabled ?: info->enabled))
		return false;
	for (size_t i = 0; i < snapshots->count; i++)
		if (snapshots->list[i].pid == truth->pid &&
		    snapshots->list[i].before >= truth->open_after &&
		    snapshots->list[i].after <= time)
			return true;
	return false;
}

/* Judges a mapping that inject removed. Removing a mapping of a file is a fault; of emitted memory,
 * inject needs to keep only the code. If an attach does not watch the process, only the jitdump
 * describes it, so nothing is a fault. */
static int judge_removed_mapping(struct equal *state, const struct jp_mapping_point *point,
				 const struct mapping_difference *difference)
{
	const struct jp_memory *memory = &state->truth.memories[difference->truth->memory];

	state->removed += difference->end - difference->start;
	if (memory->act || !memory->line || *memory->line->name != '/' ||
	    jp_evidence_is_process_older(state->view->evidence, point->pid, point->time))
		return 0;
	return report(state, point, difference, &state->removed_files);
}

/* Judges a piece of a mapping that a profiler's stream contains. A stream record that is older than
 * the truth's mapping describes another mapping. Its time 0 means the start of the capture. */
static int judge_recorded_piece(struct equal *state, const struct jp_mapping_point *point,
				struct mapping_difference *difference)
{
	const uint64_t start_time =
		difference->recorded_mapping->since ?: state->view->evidence->watched.started;
	bool is_untrue = difference->cause && strcmp(difference->cause, "invented") == 0;

	state->nr_stated++;
	if (difference->truth) {
		is_untrue = difference->cause && strcmp(difference->cause, "offset") == 0 &&
			    start_time >= difference->truth->open_before;
		difference->metric = "mappings.differs";
	}
	return is_untrue ? report(state, point, difference, &state->untrue) : 0;
}

/* Judges [@start, @end), within which no mapping begins or ends. @first: index of the first piece
 * that may end above @start. */
static int judge_piece(struct equal *state, const struct jp_mapping_point *point, size_t first,
		       uint64_t start, uint64_t end)
{
	const struct jp_evidence *evidence = state->view->evidence;
	const struct jp_mapping *mapping = jp_replay_find(state->spaces, point->pid, start);
	const struct jp_executable *truth = NULL, *executable = NULL;
	struct mapping_difference difference = {.start = start, .end = end};
	bool is_possible = false;

	for (size_t i = first; i < state->nr_now && state->current[i]->start <= start; i++) {
		if (state->current[i]->end <= start)
			continue;
		is_possible = true;
		if (certainly_exists(state, state->current[i], point->time))
			truth = state->current[i];
	}
	if (mapping && !(mapping->prot & JP_PROT_EXEC))
		mapping = NULL;
	if ((!truth && !mapping) || (!mapping && !is_visible(state, truth, point->time)))
		return 0;
	if (!truth)
		executable = find_loaded_segment(state, point->pid, mapping, end, point->time);
	/* The program loader changes mappings later without a record; the truth lacks this, too. */
	is_possible |= executable && jp_executable_may_exist(executable, point->time, point->time,
							     evidence->info.slack);
	if (!truth && is_possible) {
		state->nr_unjudged += state->injected ? 0 : end - start;
		return 0;
	}
	difference.truth = truth;
	difference.recorded_mapping = mapping;
	difference.metric = "injected.missing";
	difference.cause = "taken";
	if (state->injected)
		return mapping ? 0 : judge_removed_mapping(state, point, &difference);
	state->nr_compared += end - start;
	if (!truth) {
		difference.metric = "mappings.extra";
		difference.last_true =
			find_last_ended(state, point->pid, start, point->time) ?: executable;
		/* The parent unmapped the memory before the fork; munmap() is not recorded. */
		if (!difference.last_true)
			difference.last_true =
				find_last_ended(state, mapping->pid, start, point->time);
		difference.cause =
			find_extra_cause(state, difference.last_true, mapping, point->time);
		if (state->view->evidence->declared.observed)
			return judge_recorded_piece(state, point, &difference);
		return report(state, point, &difference, &state->nr_extra);
	}
	if (mapping)
		difference.cause = jp_mapping_differs(&state->truth.memories[truth->memory], truth,
						      mapping, start);
	if (state->view->evidence->declared.observed)
		return mapping ? judge_recorded_piece(state, point, &difference) : 0;
	if (mapping && !difference.cause) {
		state->nr_equal += end - start;
		return 0;
	}
	/* The mapping has no record; the capture still shows an older mapping. */
	if (!mapping || mapping->since + evidence->info.slack < truth->open_before)
		difference.cause =
			jp_unmapped(evidence, state->view->recorded, point->pid, start, point->time)
				.cause;
	if (mapping) {
		difference.metric = "mappings.differs";
		return report(state, point, &difference, &state->nr_different);
	}
	difference.metric = "mappings.missing";
	return report(state, point, &difference, &state->nr_missing);
}

static int add_borders(struct equal *state, uint64_t start, uint64_t end)
{
	if (!jp_array_reserve(&state->borders, &state->borders_capacity, state->nr_borders + 2))
		return -ENOMEM;
	state->borders[state->nr_borders++] = start;
	state->borders[state->nr_borders++] = end;
	return 0;
}

/* Collects the pieces of truth and capture at @point, and all their borders. */
static int collect_pieces(struct equal *state, const struct jp_mapping_point *point)
{
	const struct jp_executable *executable;
	const struct jp_mapping *mapping;
	size_t cursor = SIZE_MAX;
	int failed = 0;

	state->nr_now = state->nr_borders = 0;
	state->nothing = true;
	while (!failed && (executable = jp_executables_next(&state->truth, point->pid, 0,
							    UINT64_MAX, &cursor))) {
		if (!jp_executable_may_exist(executable, point->time, point->time,
					     state->view->evidence->info.slack))
			continue;
		if (!jp_array_reserve(&state->current, &state->now_capacity, state->nr_now + 1))
			return -ENOMEM;
		state->current[state->nr_now++] = executable;
		failed = add_borders(state, executable->start, executable->end);
	}
	for (mapping = jp_replay_find_at_or_above(state->spaces, point->pid, 0); !failed && mapping;
	     mapping = jp_replay_find_at_or_above(state->spaces, point->pid, mapping->end))
		if (mapping->prot & JP_PROT_EXEC) {
			state->nothing = false;
			failed = add_borders(state, mapping->start, mapping->end);
		}
	jp_sort(state->borders, state->nr_borders, jp_compare_by_value);
	return failed;
}

static int judge_point(struct equal *state, const struct jp_mapping_point *point)
{
	int failed = collect_pieces(state, point);
	size_t first = 0;

	state->nr_marks += point->mark && !state->injected;
	for (size_t i = 1; !failed && i < state->nr_borders; i++) {
		const uint64_t start = state->borders[i - 1], end = state->borders[i];

		while (first < state->nr_now && state->current[first]->end <= start)
			first++;
		if (start < end)
			failed = judge_piece(state, point, first, start, end);
	}
	return failed;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	const struct jp_truth *truth = view->evidence->truth;
	struct equal *state = view->state;

	/* The truth contains executable memory only. */
	if (truth->version < JP_TRUTH_VERSION_MAPS || view->evidence->declared.no_protections)
		return 1;
	state->spaces = view->spaces;
	state->points =
		(struct jp_mapping_points){.evidence = view->evidence, .truth = &state->truth};
	return jp_executables_load(&state->truth, truth, err)
		       ?: jp_mapping_points_find(&state->points, err);
}

static int judge_points(struct equal *state, uint64_t time)
{
	int failed = 0;

	while (!failed && state->next < state->points.count &&
	       state->points.list[state->next].time < time)
		failed = judge_point(state, &state->points.list[state->next++]);
	return failed;
}

/* Judges the rest of perf.data and restarts with injected.data. */
static int switch_to_injected(struct equal *state)
{
	int failed = judge_points(state, UINT64_MAX);

	state->injected = true;
	state->spaces = state->view->spaces;
	state->next = 0;
	return failed;
}

static int advance_to(struct jp_view *view, uint64_t time)
{
	struct equal *state = view->state;
	int failed = view->in_injected && !state->injected ? switch_to_injected(state) : 0;

	return failed ?: judge_points(state, time);
}

/* Does nothing: only the state of the replay at each point matters. */
static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	return 0;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	struct equal *state = view->state;
	struct jp_findings *findings = &view->findings;
	int failed = judge_points(state, UINT64_MAX);

	if (failed)
		return failed;
	if (state->points.count && !state->nr_compared &&
	    state->view->evidence->truth->nr_activations)
		return jp_fail(err, ENODATA, "no mapping was compared at any of %zu moments",
			       state->points.count);
	if (state->view->evidence->declared.observed) {
		jp_findings_add_role_rate(findings, &stated_mappings, "mappings.told",
					  state->nr_stated - state->untrue, state->nr_stated);
		return 0;
	}
	/* in KiB */
	jp_findings_add_rate(findings, "mappings.bytes", state->nr_equal >> 10,
			     state->nr_compared >> 10);
	jp_findings_add_count(findings, "mappings.unjudged", state->nr_unjudged >> 10);
	jp_findings_add_count(findings, "mappings.marks", state->nr_marks);
	jp_findings_add_role_count(findings, &equal_records, "mappings.missing", state->nr_missing);
	jp_findings_add_role_count(findings, &equal_records, "mappings.extra", state->nr_extra);
	jp_findings_add_role_count(findings, &equal_records, "mappings.differs",
				   state->nr_different);
	if (!state->injected)
		return 0;
	jp_findings_add_count(findings, "injected.missing", state->removed_files);
	jp_findings_add_count(findings, "injected.taken", state->removed);
	return 0;
}

static void free_equal(void *state)
{
	struct equal *equal = state;

	jp_executables_free(&equal->truth);
	jp_map_free(&equal->listed);
	free(equal->points.list);
	free(equal->current);
	free(equal->borders);
}

JP_DEFINE(validator, equal_mappings) = {
	.name = "equal_mappings",
	.traits = JP_WANTS_INJECTED | JP_LACKS_RECORDS | JP_LACKS_REGISTERS | JP_LACKS_NAMES,
	.state_size = sizeof(struct equal),
	.begin = begin,
	.advance_to = advance_to,
	.handle = handle_event,
	.end = end,
	.free = free_equal,
};
