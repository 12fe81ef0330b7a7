// SPDX-License-Identifier: GPL-2.0-only
/* Observed names: the name that the profiler gives to an address must be that of the function at
 * the address. A perf.data file has no names; jit_order.c finds them by perf's rules. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/search.h"
#include "harness/judge/validator.h"
#include "validators/frame_names.h"
#include "validators/sample_class.h"

enum frame_place { LEAF, CALLER, PLACES };
enum answer { RIGHT, WRONG, UNNAMED, ANSWERS };

struct observed_names {
	struct jp_view *view;
	struct jp_frame_names functions;
	uint64_t counts[PLACES][ANSWERS], unjudged, nr_samples, invented, native;
};

static const struct jp_role unjudged_names = {.bound = JP_MOST_UNJUDGED};
static const struct jp_role right_names = {.steady = true, .column = "right"};
static const struct jp_role wrong_names = {.column = "wrong"};
static const struct jp_role invented_names = {.column = "wrong"};
static const struct jp_role right_callers = {.column = "right"};
static const struct jp_role wrong_callers = {.column = "wrong"};

static bool is_function(struct observed_names *names, const char *name)
{
	return jp_frame_get_name_number(&names->functions, name) >= JP_FRAME_FIRST;
}

/* Returns whether @code is being loaded or unloaded at @time, so that it is not judged. */
static bool is_changing(const struct jp_truth_code *code, uint64_t time, uint64_t slack)
{
	return time < code->ready + slack ||
	       (code->ending != UINT64_MAX && time + slack > code->ending);
}

static const char *find_cause(struct observed_names *names, const struct jp_truth_code *code,
			      uint64_t ip, const char *name)
{
	const struct jp_truth *truth = names->view->evidence->truth;
	size_t i;

	jp_search(i, truth->nr_codes,
		  truth->codes[i].pid < code->pid ||
			  (truth->codes[i].pid == code->pid && truth->codes[i].addr <= ip));
	for (; i && truth->codes[i - 1].pid == code->pid && truth->code_reach[i - 1] > ip; i--) {
		const struct jp_truth_code *other_code = &truth->codes[i - 1];

		if (other_code != code && ip - other_code->addr < other_code->size &&
		    strcmp(other_code->name, name) == 0)
			return other_code->loaded < code->loaded ? "stale" : "later";
	}
	return is_function(names, name) ? "other-function" : "other-name";
}

/* Returns the code that begins at @ip, or NULL. A return address is never the first address of a
 * function. */
static const struct jp_truth_code *find_code_start(const struct observed_names *names,
						   const struct jp_event *event, uint32_t pid,
						   uint64_t ip)
{
	const struct jp_truth_code *code =
		jp_truth_code_at(names->view->evidence->truth, pid, ip, event->time);

	return code && code->addr == ip ? code : NULL;
}

static int judge_name(struct observed_names *names, const struct jp_event *event,
		      const struct jp_truth_code *code, uint64_t ip, const char *name,
		      enum frame_place place)
{
	const struct jp_truth_code *next =
		place == CALLER ? find_code_start(names, event, code->pid, ip + 1) : NULL;
	enum answer answer = !name                                               ? UNNAMED
			     : strcmp(name, code->name) == 0                     ? RIGHT
			     : next && next != code && !strcmp(name, next->name) ? RIGHT
										 : WRONG;
	static const char *const metrics[PLACES][ANSWERS] = {
		{NULL, "names.wrong", "names.unnamed"},
		{NULL, "callers.wrong", "callers.unnamed"},
	};

	names->counts[place][answer]++;
	if (answer == RIGHT)
		return 0;
	return jp_findings_count_failure(&names->view->findings, metrics[place][answer],
					 name ? find_cause(names, code, ip, name) : "no-name",
					 "at %" PRIu64 ", %u/%u, %" PRIx64 " in %s+%#" PRIx64
					 ", loaded at %" PRIu64 ": %s%.100s",
					 event->time, event->pid, event->tid, ip, code->name,
					 ip - code->addr, code->loaded, name ? "named " : "no name",
					 name ?: "");
}

/* Reports an address outside of emitted code that has the name of emitted code. */
static int judge_native_name(struct observed_names *names, const struct jp_event *event,
			     uint64_t ip, const char *name)
{
	const struct jp_truth_code *code =
		jp_truth_code_at(names->view->evidence->truth, event->pid, ip + 1, event->time);

	/* Another validator reports samples of processes that do not exist. */
	if (!jp_sample_is_watched(names->view->evidence, event->pid, event->time))
		return 0;
	names->native++;
	/* A frame at the first address of a function is not a return address, and its name is
	 * right. */
	if (!name || !is_function(names, name) || (code && strcmp(code->name, name) == 0))
		return 0;
	names->invented++;
	return jp_findings_count_failure(&names->view->findings, "names.invented", "native",
					 "at %" PRIu64 ", %u/%u: %" PRIx64
					 " is in no emitted code then, and is named %.100s",
					 event->time, event->pid, event->tid, ip, name);
}

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	struct observed_names *names = view->state;
	const struct jp_truth *truth = view->evidence->truth;
	const uint64_t slack = view->evidence->info.slack, *user;
	size_t count = event->type == JP_EVENT_SAMPLE ? jp_event_user_chain(event, &user) : 0;
	int failed = 0;

	for (size_t i = 0; i < count && !failed; i++) {
		/* A return address is the address after the call. */
		const uint64_t ip = user[i] - !!i, time = event->time;
		const char *name = event->observed->names[i];
		const struct jp_truth_code *code =
			jp_truth_code_at(truth, event->pid, ip, time + slack)
				?: jp_truth_code_at(truth, event->pid, ip,
						    time < slack ? 0 : time - slack);

		/* Code in files may have any name. */
		if (code && code->in_file && !(name && is_function(names, name)))
			continue;
		names->nr_samples += code != NULL;
		if (!code)
			failed = judge_native_name(names, event, ip, name);
		else if (is_changing(code, time, slack))
			names->unjudged++;
		else
			failed = judge_name(names, event, code, ip, name, i ? CALLER : LEAF);
	}
	return failed;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	static const char *const text[PLACES] = {"names", "callers"};
	static const char *const answers[ANSWERS] = {"right", "wrong", "unnamed"};
	static const struct jp_role *const roles[PLACES][ANSWERS] = {
		[LEAF] = {[RIGHT] = &right_names, [WRONG] = &wrong_names},
		[CALLER] = {[RIGHT] = &right_callers, [WRONG] = &wrong_callers},
	};
	const struct observed_names *names = view->state;
	struct jp_findings *findings = &view->findings;

	jp_findings_add_role_rate(findings, &unjudged_names, "names.unjudged", names->unjudged,
				  names->nr_samples);
	for (int place = 0; place < PLACES; place++) {
		const uint64_t *counts = names->counts[place];
		uint64_t n = counts[RIGHT] + counts[WRONG] + counts[UNNAMED];

		for (int answer = 0; answer < ANSWERS; answer++) {
			char name[32];

			snprintf(name, sizeof(name), "%s.%s", text[place], answers[answer]);
			jp_findings_add_role_rate(findings, roles[place][answer], name,
						  counts[answer], n);
		}
	}
	jp_findings_add_role_rate(findings, &invented_names, "names.invented", names->invented,
				  names->native);
	return 0;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	struct observed_names *names = view->state;

	if (!view->evidence->declared.observed || !view->asked->names)
		return 1;
	return jp_frame_names_init(&names->functions, view->evidence->truth);
}

static void free_names(void *state)
{
	struct observed_names *names = state;

	jp_frame_names_free(&names->functions);
}

JP_DEFINE(validator, observed_names) = {
	.name = "observed_names",
	.traits = JP_LACKS_RECORDS | JP_LACKS_REGISTERS | JP_LACKS_MAPPINGS | JP_LACKS_TASKS |
		  JP_LACKS_THREADS,
	.state_size = sizeof(struct observed_names),
	.begin = begin,
	.handle = handle_event,
	.end = end,
	.free = free_names,
};
