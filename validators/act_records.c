// SPDX-License-Identifier: GPL-2.0-only
/* The kernel writes a record when a process maps executable memory and when it makes memory
 * executable (perf_event_mmap() in mmap_region() and mprotect_fixup()). Each such operation of the
 * truth, made while the events were enabled, must have a record at its time. Conversely, each
 * record must belong to one operation of its thread. If an operation causes several records, each
 * record describes a larger mapping than the record before. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/order.h"
#include "harness/base/search.h"
#include "harness/base/sort.h"
#include "harness/judge/validator.h"
#include "harness/model/oracle/executable_load.h"
#include "validators/gate_names.h"

struct exec_record {
	uint64_t time, start, end;
	uint32_t pid, tid;
	bool is_live; /* the kernel wrote it when the memory was mapped */
};

static const struct jp_role recorded_acts = {.faults = "mapped"};

struct act_records {
	struct jp_view *view;
	struct jp_executables truth;
	struct exec_record *records; /* by pid, then time */
	size_t nr_records, capacity;
	uint64_t longest; /* longest time bracket of an operation, in ns */
};

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	struct act_records *state = view->state;

	if (event->type != JP_EVENT_MAP || !(event->map.prot & JP_PROT_EXEC) || !event->time)
		return 0;
	return jp_array_append(
		&state->records, &state->nr_records, &state->capacity,
		(struct exec_record){event->time, event->map.addr, event->map.addr + event->map.len,
				     event->pid, event->tid,
				     event->asked && event->asked->ids && event->id &&
					     !jp_gate_find_backfill(view->evidence, event) &&
					     !jp_snapshots_cover_time(&view->evidence->snapshots,
								      event->pid, event->time)});
}

/* Returns whether the truth contains the memory of @record, but no operation that made any of this
 * memory executable at the record's time. */
static bool lacks_act(const struct act_records *state, const struct exec_record *record)
{
	const uint64_t slack = state->view->evidence->info.slack;
	const struct jp_executable *executable;
	size_t cursor = SIZE_MAX;
	bool is_known = false;

	while ((executable = jp_executables_next(&state->truth, record->pid, record->start,
						 record->end, &cursor))) {
		if (executable->open_before > record->time + slack ||
		    (executable->close_after != UINT64_MAX &&
		     executable->close_after + slack < record->time))
			continue;
		if (record->time <= executable->open_after + slack)
			return false;
		is_known |= state->truth.memories[executable->memory].act != NULL;
	}
	return is_known;
}

/* The operations that may have caused a record. */
struct record_acts {
	const struct jp_event *act; /* NULL: no operation */
	bool several;               /* more than one operation touched the memory then */
	bool by_own_thread;         /* one of the operations was made by the record's thread */
};

static struct record_acts find_acts(const struct act_records *state,
				    const struct exec_record *record)
{
	const struct jp_truth *truth = state->view->evidence->truth;
	const uint64_t slack = state->view->evidence->info.slack;
	struct record_acts acts = {0};
	bool is_touched = false;
	size_t i;

	jp_search(i, truth->nr_acts, truth->acts[i].before + state->longest + slack < record->time);
	for (; jp_groups_next(&truth->acts_of.processes, record->pid, &i) &&
	       truth->acts[i].before <= record->time + slack;
	     i++) {
		const struct jp_event *act = &truth->acts[i];

		if (act->after + slack < record->time ||
		    !jp_event_touches(act, record->start, record->end - record->start))
			continue;
		acts.several |= is_touched;
		is_touched = true;
		if ((act->type != JP_EVENT_MAP && act->type != JP_EVENT_PROTECT) ||
		    !(act->map.prot & JP_PROT_EXEC))
			continue;
		acts.by_own_thread |= act->tid == record->tid;
		acts.act = act;
	}
	return acts;
}

/* Returns whether @act alone caused the record at index @index and an earlier record of the same
 * memory. */
static bool is_repeated(const struct act_records *state, size_t index, const struct jp_event *act)
{
	const struct exec_record *record = &state->records[index];

	for (size_t i = index; i-- > 0;) {
		const struct exec_record *previous = &state->records[i];
		struct record_acts acts;

		if (previous->pid != record->pid ||
		    previous->time + state->view->evidence->info.slack < act->before)
			return false;
		if (!previous->is_live || previous->start != record->start ||
		    previous->end != record->end)
			continue;
		acts = find_acts(state, previous);
		return acts.act == act && !acts.several;
	}
	return false;
}

/* Returns the cause id if the record at index @index contradicts the truth, else NULL. */
static const char *find_contradiction(const struct act_records *state, size_t index)
{
	const struct exec_record *record = &state->records[index];
	struct record_acts acts;

	if (lacks_act(state, record))
		return "no-act";
	acts = find_acts(state, record);
	if (!acts.act)
		return NULL; /* a program or a library: the truth does not record who mapped it */
	if (!acts.by_own_thread)
		return "other-thread";
	return !acts.several && is_repeated(state, index, acts.act) ? "twice" : NULL;
}

JP_ORDER(compare_by_time, struct exec_record,
	 jp_compare(a->pid, b->pid) ?: jp_compare(a->time, b->time));

/* Returns the end of the memory that begins at @start and that records from the time of @act cover
 * without a gap. */
static uint64_t find_covered_end(const struct act_records *state, const struct jp_event *act,
				 uint64_t start)
{
	const uint64_t slack = state->view->evidence->info.slack;
	const struct exec_record *records = state->records;
	uint64_t before, covered_end = start;
	size_t first;

	jp_search(first, state->nr_records,
		  records[first].pid != act->pid ? records[first].pid < act->pid
						 : records[first].time + slack < act->before);
	do {
		before = covered_end;
		for (size_t i = first; i < state->nr_records && records[i].pid == act->pid &&
				       records[i].time <= act->after + slack;
		     i++)
			if (records[i].start <= covered_end && covered_end < records[i].end)
				covered_end = records[i].end;
	} while (covered_end > before);
	return covered_end;
}

/* Returns whether records cover all memory that @act made executable. Stores in *@has_window
 * whether @act made any memory executable: an mprotect() that changes nothing causes no record. */
static bool is_covered(const struct act_records *state, const struct jp_event *act,
		       bool *has_window)
{
	const struct jp_executable *executable;
	size_t cursor = SIZE_MAX;

	*has_window = false;
	/* The kernel maps the vDSO at the exec. A workload that uses the vDSO records it later. */
	if ((act->type != JP_EVENT_MAP && act->type != JP_EVENT_PROTECT) ||
	    !(act->map.prot & JP_PROT_EXEC) ||
	    (act->type == JP_EVENT_MAP && strcmp(act->map.name, "[vdso]") == 0))
		return true;
	while ((executable = jp_executables_next(&state->truth, act->pid, act->map.addr,
						 act->map.addr + act->map.len, &cursor))) {
		if (executable->open_before != act->before)
			continue;
		*has_window = true;
		if (find_covered_end(state, act, executable->start) < executable->end)
			return false;
	}
	return true;
}

/* Returns whether the events of all threads were enabled throughout @act. A gate enables them
 * during intervals only. */
static bool is_watched(const struct act_records *state, const struct jp_event *act)
{
	const struct jp_evidence *evidence = state->view->evidence;
	const uint64_t slack = evidence->info.slack;
	uint64_t from_ns = evidence->info.enabled, to_ns = evidence->info.stopped;

	if (!jp_evidence_gates_records(evidence))
		return act->before > from_ns + slack && act->after + slack < to_ns;
	for (size_t cursor = 0;
	     jp_evidence_next_window(evidence, act->pid, &cursor, &from_ns, &to_ns);)
		if (act->before > from_ns + slack && act->after + slack < to_ns)
			return true;
	return false;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	const struct jp_truth *truth = view->evidence->truth;
	struct act_records *state = view->state;
	uint64_t acts = 0, missing = 0, records = 0, invented = 0;
	int failed = 0;

	jp_sort(state->records, state->nr_records, compare_by_time);
	for (size_t i = 0; !failed && i < truth->nr_acts; i++) {
		const struct jp_event *act = &truth->acts[i];
		bool has_window = false,
		     covered = !is_watched(state, act) || is_covered(state, act, &has_window);

		acts += has_window;
		if (covered)
			continue;
		missing++;
		failed = jp_findings_count_failure(
			&view->findings, "acts.records",
			jp_evidence_is_process_older(view->evidence, act->pid, act->before)
				? "not-watched"
				: "no-record",
			"pid %u, %s of %" PRIx64 "-%" PRIx64 " at %" PRIu64
			": no record of that time covers all of it",
			act->pid, act->type == JP_EVENT_MAP ? "mmap" : "mprotect", act->map.addr,
			act->map.addr + act->map.len, act->before);
	}
	for (size_t i = 0; !failed && i < state->nr_records; i++) {
		const struct exec_record *record = &state->records[i];
		const char *cause = record->is_live ? find_contradiction(state, i) : NULL;

		records += record->is_live;
		if (!cause)
			continue;
		invented++;
		failed = jp_findings_count_failure(
			&view->findings, "records.acts", cause,
			"pid %u, thread %u, %" PRIx64 "-%" PRIx64 " at %" PRIu64
			": no operation of the workload explains the record",
			record->pid, record->tid, record->start, record->end, record->time);
	}
	jp_findings_add_role_rate(&view->findings, &recorded_acts, "acts.records", missing, acts);
	jp_findings_add_rate(&view->findings, "records.acts", invented, records);
	return failed;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	struct act_records *state = view->state;

	for (size_t i = 0; i < view->evidence->truth->nr_acts; i++) {
		const struct jp_event *act = &view->evidence->truth->acts[i];

		state->longest = jp_max(state->longest, act->after - act->before);
	}
	return jp_executables_load(&state->truth, view->evidence->truth, err);
}

static void free_state(void *context)
{
	struct act_records *state = context;

	jp_executables_free(&state->truth);
	free(state->records);
}

JP_DEFINE(validator, act_records) = {
	.name = "act_records",
	.state_size = sizeof(struct act_records),
	.begin = begin,
	.handle = handle_event,
	.end = end,
	.free = free_state,
};
