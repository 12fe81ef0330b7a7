// SPDX-License-Identifier: GPL-2.0-only
/*
 * Injected code: each record that injecting added to a capture must tell of code that its process
 * has there then.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/base/order.h"
#include "harness/base/search.h"
#include "harness/judge/validator.h"

/* A mapping record of perf.data, by which injected.data's own are told from it. */
struct captured {
	uint64_t time, start, end;
	uint32_t pid;
};

struct injected_code {
	struct jp_view *view;
	const struct jp_evidence *evidence;
	struct captured *captured;
	size_t nr_captured, captured_capacity;
	bool sorted;
	uint64_t code_records, no_code;
};

static int by_captured(const void *left, const void *right)
{
	const struct captured *a = left, *b = right;

	return jp_compare(a->time, b->time)
		       ?: jp_compare(a->pid, b->pid)
		       ?: jp_compare(a->start, b->start);
}

/* Whether @record is one of perf.data, or a piece of one. */
static bool is_captured(const struct injected_code *state, const struct jp_event *record)
{
	const uint64_t end = record->map.addr + record->map.len;
	const struct captured *all = state->captured;
	size_t i;

	jp_search(i, state->nr_captured, all[i].time < record->time);
	for (; i < state->nr_captured && all[i].time == record->time; i++)
		if (all[i].pid == record->pid && all[i].start <= record->map.addr &&
		    end <= all[i].end)
			return true;
	return false;
}

/* What @record tells wrong, that injecting added: it must tell of code that is loaded then. */
static const char *no_code(const struct injected_code *state, const struct jp_event *record)
{
	const struct jp_truth *truth = state->evidence->truth;
	const uint64_t slack = state->evidence->info.slack;
	const struct jp_truth_code *codes = truth->codes;
	const char *cause = "no-code";
	size_t i;

	jp_search(i, truth->nr_codes,
		  codes[i].pid != record->pid ? codes[i].pid < record->pid
					      : codes[i].addr < record->map.addr);
	for (; i < truth->nr_codes && codes[i].pid == record->pid &&
	       codes[i].addr == record->map.addr;
	     i++) {
		if (record->time + slack < codes[i].loaded ||
		    (codes[i].unloaded != UINT64_MAX && record->time > codes[i].unloaded + slack))
			cause = "other-time";
		else if (record->map.len >= codes[i].size) /* its tables stand behind it */
			return NULL;
		else
			cause = "shorter";
	}
	return cause;
}

static int judge_added(struct injected_code *state, const struct jp_event *record)
{
	const char *cause;

	if (record->kernel_map || !(record->map.prot & JP_PROT_EXEC) || is_captured(state, record))
		return 0;
	state->code_records++;
	cause = no_code(state, record);
	if (!cause)
		return 0;
	state->no_code++;
	return jp_findings_except(&state->view->findings, "injected.mappings", cause,
				  "pid %u, injected record of %" PRIu64 ": %" PRIx64 "-%" PRIx64
				  " %.120s",
				  record->pid, record->time, record->map.addr,
				  record->map.addr + record->map.len, record->map.name);
}

static int note_captured(struct injected_code *state, const struct jp_event *record)
{
	struct captured *one =
		jp_array_push(&state->captured, &state->nr_captured, &state->captured_capacity);

	if (!one)
		return -ENOMEM;
	*one = (struct captured){.time = record->time,
				 .pid = record->pid,
				 .start = record->map.addr,
				 .end = record->map.addr + record->map.len};
	return 0;
}

static int see(struct jp_view *view, const struct jp_event *event)
{
	struct injected_code *state = view->state;

	if (event->type != JP_EVENT_MAP)
		return 0;
	if (!view->in_injected)
		return note_captured(state, event);
	if (!state->sorted && state->nr_captured)
		qsort(state->captured, state->nr_captured, sizeof(*state->captured), by_captured);
	state->sorted = true;
	return judge_added(state, event);
}

static int end(struct jp_view *view, struct jp_error *err)
{
	const struct injected_code *state = view->state;

	return !view->in_injected
		       ? 0
		       : jp_findings_add(&view->findings,
					 jp_metric_rate("injected.mappings", state->no_code,
							state->code_records));
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	struct injected_code *state;

	if (view->evidence->truth->version < JP_TRUTH_VERSION_MAPS)
		return 0;
	state = view->state = calloc(1, sizeof(*state));
	if (!state)
		return -ENOMEM;
	state->view = view;
	state->evidence = view->evidence;
	return 0;
}

static void free_code(void *context)
{
	struct injected_code *state = context;

	free(state->captured);
	free(state);
}

static const struct jp_validator injected_code = {
	.name = "injected_code",
	.help = "does each record that injecting added tell of code that is there then?",
	.traits = JP_WANTS_INJECTED | JP_LACKS_REGISTERS,
	.begin = begin,
	.see = see,
	.end = end,
	.free = free_code,
};
JP_REGISTER(validator, injected_code);
