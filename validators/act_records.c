// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel writes a record when a process maps executable memory and when it makes memory
 * executable (perf_event_mmap() in mmap_region() and mprotect_fixup()). Each such operation of the
 * truth, made while the events were on, must have a record at its time. In return, each record must
 * belong to one operation of the thread that it names (current), and no operation has the same
 * record twice: if an operation makes several records, each describes a larger mapping than the
 * record before.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/base/order.h"
#include "harness/base/search.h"
#include "harness/judge/validator.h"
#include "harness/model/oracle/executable_load.h"

struct told_range {
	uint64_t time, start, end;
	uint32_t pid, tid;
	bool live; /* the kernel wrote it for an event */
};

struct act_records {
	struct jp_view *view;
	struct jp_executables truth;
	struct told_range *told; /* by pid, time */
	size_t nr_told, capacity;
	uint64_t longest; /* longest time bracket of an operation, in ns */
};

static int see(struct jp_view *view, const struct jp_event *event)
{
	struct act_records *state = view->state;
	struct told_range *one;

	if (event->type != JP_EVENT_MAP || !(event->map.prot & JP_PROT_EXEC) || !event->time)
		return 0;
	one = jp_array_push(&state->told, &state->nr_told, &state->capacity);
	if (!one)
		return -ENOMEM;
	*one = (struct told_range){event->time,
				   event->map.addr,
				   event->map.addr + event->map.len,
				   event->pid,
				   event->tid,
				   event->asked && event->asked->ids && event->id &&
					   !jp_snapshots_cover_time(&view->evidence->snapshots,
								    event->pid, event->time)};
	return 0;
}

/* Returns whether the truth has the memory of record @told, but no operation of that time made any
 * of it executable. */
static bool has_no_act(const struct act_records *state, const struct told_range *told)
{
	const uint64_t slack = state->view->evidence->info.slack;
	const struct jp_executable *one;
	size_t at = SIZE_MAX;
	bool known = false;

	while ((one = jp_executables_next(&state->truth, told->pid, told->start, told->end, &at))) {
		if (one->open_before > told->time + slack ||
		    (one->close_after != UINT64_MAX && one->close_after + slack < told->time))
			continue;
		if (told->time <= one->open_after + slack)
			return false;
		known |= state->truth.memories[one->memory].act != NULL;
	}
	return known;
}

/* The operations that may have made a record. */
struct record_acts {
	const struct jp_event *one; /* NULL: no operation */
	bool several;               /* or the operation ended then and may have happened again */
	bool own;                   /* one of the operations is of the record's thread */
};

static struct record_acts acts_of(const struct act_records *state, const struct told_range *told)
{
	const struct jp_truth *truth = state->view->evidence->truth;
	const uint64_t slack = state->view->evidence->info.slack;
	struct record_acts acts = {0};
	bool touched = false;
	size_t i;

	jp_search(i, truth->nr_acts, truth->acts[i].before + state->longest + slack < told->time);
	for (; jp_groups_next(&truth->acts_of.processes, told->pid, &i) &&
	       truth->acts[i].before <= told->time + slack;
	     i++) {
		const struct jp_event *act = &truth->acts[i];

		if (act->after + slack < told->time ||
		    !jp_event_touches(act, told->start, told->end - told->start))
			continue;
		acts.several |= touched;
		touched = true;
		if ((act->type != JP_EVENT_MAP && act->type != JP_EVENT_PROTECT) ||
		    !(act->map.prot & JP_PROT_EXEC))
			continue;
		acts.own |= act->tid == told->tid;
		acts.one = act;
	}
	return acts;
}

/* Returns whether a record before @at describes the same memory of operation @one, which alone made
 * both. */
static bool is_twice(const struct act_records *state, size_t at, const struct jp_event *one)
{
	const struct told_range *told = &state->told[at];

	for (size_t i = at; i-- > 0;) {
		const struct told_range *before = &state->told[i];
		struct record_acts acts;

		if (before->pid != told->pid ||
		    before->time + state->view->evidence->info.slack < one->before)
			return false;
		if (!before->live || before->start != told->start || before->end != told->end)
			continue;
		acts = acts_of(state, before);
		return acts.one == one && !acts.several;
	}
	return false;
}

/* Returns the cause why the record at @at cannot be right, or NULL if it can. */
static const char *impossible(const struct act_records *state, size_t at)
{
	const struct told_range *told = &state->told[at];
	struct record_acts acts;

	if (has_no_act(state, told))
		return "no-act";
	acts = acts_of(state, told);
	if (!acts.one)
		return NULL; /* the truth does not state who mapped it: a program, a library */
	if (!acts.own)
		return "other-thread";
	return !acts.several && is_twice(state, at, acts.one) ? "twice" : NULL;
}

static int by_time(const void *left, const void *right)
{
	const struct told_range *a = left, *b = right;

	return jp_compare(a->pid, b->pid) ?: jp_compare(a->time, b->time);
}

/* Returns the address up to which the records of @act's time cover its memory, from @start on. */
static uint64_t told_until(const struct act_records *state, const struct jp_event *act,
			   uint64_t start)
{
	const uint64_t slack = state->view->evidence->info.slack;
	const struct told_range *told = state->told;
	uint64_t before, reached = start;
	size_t first;

	jp_search(first, state->nr_told,
		  told[first].pid != act->pid ? told[first].pid < act->pid
					      : told[first].time + slack < act->before);
	do {
		before = reached;
		for (size_t i = first; i < state->nr_told && told[i].pid == act->pid &&
				       told[i].time <= act->after + slack;
		     i++)
			if (told[i].start <= reached && reached < told[i].end)
				reached = told[i].end;
	} while (reached > before);
	return reached;
}

/* Returns whether records cover all memory that @act made executable or gave another protection. An
 * mprotect() that changes nothing makes no record. *@made: the operation changed something. */
static bool is_told(const struct act_records *state, const struct jp_event *act, bool *made)
{
	const struct jp_executable *one;
	size_t at = SIZE_MAX;

	*made = false;
	if ((act->type != JP_EVENT_MAP && act->type != JP_EVENT_PROTECT) ||
	    !(act->map.prot & JP_PROT_EXEC))
		return true;
	while ((one = jp_executables_next(&state->truth, act->pid, act->map.addr,
					  act->map.addr + act->map.len, &at))) {
		if (one->open_before != act->before)
			continue;
		*made = true;
		if (told_until(state, act, one->start) < one->end)
			return false;
	}
	return true;
}

/* Returns whether the events of all threads were on throughout @act. A gate for records switches
 * those of one process between its intervals. */
static bool watched(const struct act_records *state, const struct jp_event *act)
{
	const struct jp_evidence *evidence = state->view->evidence;
	const uint64_t slack = evidence->info.slack;
	uint64_t from = evidence->info.enabled, to = evidence->info.stopped;

	if (!jp_evidence_gates_records(evidence))
		return act->before > from + slack && act->after + slack < to;
	for (size_t at = 0; jp_evidence_window(evidence, act->pid, &at, &from, &to);)
		if (act->before > from + slack && act->after + slack < to)
			return true;
	return false;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	const struct jp_truth *truth = view->evidence->truth;
	struct act_records *state = view->state;
	uint64_t acts = 0, missing = 0, records = 0, invented = 0;
	int failed = 0;

	if (state->nr_told)
		qsort(state->told, state->nr_told, sizeof(*state->told), by_time);
	for (size_t i = 0; !failed && i < truth->nr_acts; i++) {
		const struct jp_event *act = &truth->acts[i];
		bool made = false, told = !watched(state, act) || is_told(state, act, &made);

		acts += made;
		if (told)
			continue;
		missing++;
		failed = jp_findings_except(
			&view->findings, "acts.records", "no-record",
			"pid %u, %s of %" PRIx64 "-%" PRIx64 " at %" PRIu64
			": no record of then tells all of it",
			act->pid, act->type == JP_EVENT_MAP ? "mmap" : "mprotect", act->map.addr,
			act->map.addr + act->map.len, act->before);
	}
	for (size_t i = 0; !failed && i < state->nr_told; i++) {
		const struct told_range *told = &state->told[i];
		const char *cause = told->live ? impossible(state, i) : NULL;

		records += told->live;
		if (!cause)
			continue;
		invented++;
		failed = jp_findings_except(&view->findings, "records.acts", cause,
					    "pid %u, thread %u, %" PRIx64 "-%" PRIx64 " at %" PRIu64
					    ": the workload did not do so then",
					    told->pid, told->tid, told->start, told->end,
					    told->time);
	}
	jp_findings_add_rate(&view->findings, "acts.records", missing, acts);
	jp_findings_add_rate(&view->findings, "records.acts", invented, records);
	return failed;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	struct act_records *state = view->state = calloc(1, sizeof(*state));

	if (!state)
		return -ENOMEM;
	state->view = view;
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
	free(state->told);
	free(state);
}

static const struct jp_validator act_records = {
	.name = "act_records",
	.help = "has each mapping of executable memory a record of its own time?",
	.begin = begin,
	.see = see,
	.end = end,
	.free = free_state,
};
JP_REGISTER(validator, act_records);
