// SPDX-License-Identifier: GPL-2.0-only
/* Order of jitdump and mappings: the capture's name for an address must be that of the function
 * that was there at that time, before inject (perf.data) and after (injected.data). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/excuse.h"
#include "harness/base/order.h"
#include "validators/code_names.h"
#include "validators/images.h"
#include "validators/sample_class.h"

/* Results of perf.data or injected.data. */
struct order_side {
	struct jp_named_samples samples;
	uint64_t nr_named[JP_NAMES], nr_unjudged, elf, map;
	uint64_t anon;      /* number of records of anonymous executable mappings */
	uint64_t nr_hidden; /* number of loads that a later record covers */
};

struct jit_order_state {
	struct jp_view *view;
	struct jp_file_finder *finder;
	struct jp_naming naming;
	struct jp_code_loads loads;
	struct jp_incarnations incarnations;
	struct order_side before, after, *side; /* @side: @before or @after, for the current file */
	bool in_files, in_memory; /* whether there is code in files, which needs no name, and code
				     that needs one */
	bool needs_names;         /* whether samples may need names: code in memory runs */
	bool is_last; /* names in the current file are judged: it is injected.data, or the only file
		       */
	size_t *by_begin, nr_begun; /* indexes of incarnations, by begin of the judged time; number
				    of those whose judged time has begun */
	struct {
		bool begun, failed, elf, map;
	} * state;
	uint64_t load_right, load_judged;
	uint64_t injected, misplaced; /* records of injected code; those that describe no load */
};

static const struct jp_role named_samples = {
	.bound = JP_LEAST_N,
	.lead = "names were judged of ",
	.tail = " samples",
	.column = "right",
};
/* Role of the metric in cases that also have code in files, whose samples need no name. */
static const struct jp_role some_named_samples = {
	.bound = JP_SOME_N,
	.lead = "names were judged of ",
	.tail = " samples",
	.column = "right",
};
/* Role of the metric in cases whose samples need no names. */
static const struct jp_role any_named_samples = {.column = "right"};
static const struct jp_role wrong_samples = {.column = "wrong"};
static const struct jp_role unjudged_samples = {.bound = JP_MOST_UNJUDGED};

static bool get_user_ip(const struct jit_order_state *order, const struct jp_event *event,
			uint64_t *ip)
{
	uint64_t sp;

	if (jp_machine_user(order->view->machine, event, ip, &sp))
		return true;
	*ip = event->sample.ip;
	return event->sample.user;
}

/* Counts a wrong @name as an exception of kind @wrong_metric, or a missing name as one of kind
 * @other_metric. If the exception is the first of its kind, returns it, so that the caller
 * describes it; else returns NULL. Stores 0 or -ENOMEM in *@failed. */
static struct jp_exception *count_exception(struct jit_order_state *order,
					    const struct jp_code_name *name,
					    const char *wrong_metric, const char *other_metric,
					    uint64_t time, int *failed)
{
	struct jp_exception *exception = jp_findings_count(
		&order->view->findings, name->class == JP_NAME_WRONG ? wrong_metric : other_metric,
		JP_METHODS, jp_code_name_cause(&order->naming, name, time));

	*failed = exception ? 0 : -ENOMEM;
	if (exception)
		jp_count_in_image(exception, order->view->evidence->truth, name->incarnation->code);
	return exception && exception->count == 1 ? exception : NULL;
}

/* Returns whether @incarnation must have a name: code in files only needs one if there are
 * jitdumps. */
static bool needs_name(const struct jit_order_state *order,
		       const struct jp_incarnation *incarnation)
{
	return !incarnation->code->in_file;
}

static int judge_name(struct jit_order_state *order, const struct jp_event *event,
		      const struct jp_code_name *name)
{
	struct jp_exception *first;
	char text[330];
	int failed;

	if (name->class == JP_NAME_RIGHT) {
		size_t index = name->incarnation - order->incarnations.incarnations;

		order->state[index].elf |= name->source == JP_NAME_JITDUMP;
		order->state[index].map |= name->source == JP_NAME_MAP;
		return 0;
	}
	first = count_exception(order, name, "names.wrong", "names.unnamed", event->time, &failed);
	if (first)
		snprintf(first->example, sizeof(first->example),
			 "at %" PRIu64 ", %u/%u, ip %" PRIx64 " in %s", event->time, event->pid,
			 event->tid, name->ip, jp_code_name_text(name, text, sizeof(text)));
	return failed;
}

static int judge_sample(struct jit_order_state *order, const struct jp_event *event)
{
	struct jp_named_sample sample = {
		.time = event->time, .pid = event->pid, .tid = event->tid, .cpu = event->cpu};
	uint64_t slack = order->view->evidence->info.slack;
	struct jp_code_name name;
	struct jp_incarnation *incarnation;
	int failed;

	if (!get_user_ip(order, event, &sample.ip))
		return 0;
	incarnation =
		jp_incarnations_find_at(&order->incarnations, event->pid, sample.ip, event->time);
	if (!incarnation)
		return 0;
	if (event->time <= incarnation->code->ready + slack ||
	    (incarnation->code->ending != UINT64_MAX &&
	     event->time + slack >= incarnation->code->ending)) {
		order->side->nr_unjudged++;
		return 0;
	}
	name = jp_code_name_at(&order->naming, incarnation, sample.ip);
	if (!name.recorded && !needs_name(order, incarnation))
		return 0;
	sample.class = name.class;
	sample.covered = name.covered;
	order->side->nr_named[name.class]++;
	order->side->elf += name.source == JP_NAME_JITDUMP;
	order->side->map += name.source == JP_NAME_MAP;
	failed = jp_named_samples_add(&order->side->samples, &sample);
	return failed || !order->is_last ? failed : judge_name(order, event, &name);
}

/* Judges the names of @incarnation at @time, at the first and last address in each mapping; the
 * name is the same in between. Stops at the first wrong name. */
static int judge_load(struct jit_order_state *order, struct jp_incarnation *incarnation,
		      uint64_t time)
{
	uint64_t next, end = incarnation->code->addr + incarnation->code->size;
	size_t index = incarnation - order->incarnations.incarnations;

	for (uint64_t addr = incarnation->code->addr; addr < end; addr = next) {
		const struct jp_mapping *mapping =
			jp_replay_find(order->view->spaces, incarnation->code->pid, addr);

		next = mapping ? jp_min(mapping->end, end) : end;
		for (int last = 0; last < 2; last++) {
			uint64_t ip = last ? next - 1 : addr;
			struct jp_code_name name = jp_code_name_at(&order->naming, incarnation, ip);
			struct jp_exception *first;
			char text[330];
			int failed;

			if (name.class == JP_NAME_RIGHT)
				continue;
			order->state[index].failed = true;
			first = count_exception(order, &name, "load.wrong", "load.unnamed", time,
						&failed);
			if (first)
				snprintf(first->example, sizeof(first->example),
					 "at %" PRIu64 ", pid %u, %" PRIx64 " in %s", time,
					 incarnation->code->pid, ip,
					 jp_code_name_text(&name, text, sizeof(text)));
			return failed;
		}
	}
	return 0;
}

/* Judges the loads whose judged time begins before @time. */
static int begin_incarnations(struct jit_order_state *order, uint64_t time)
{
	int failed = 0;

	while (!failed && order->nr_begun < order->incarnations.count) {
		size_t index = order->by_begin[order->nr_begun];
		struct jp_incarnation *incarnation = &order->incarnations.incarnations[index];

		if (incarnation->begin >= time)
			break;
		order->nr_begun++;
		if (incarnation->begin >= incarnation->end || !needs_name(order, incarnation))
			continue;
		order->state[index].begun = true;
		order->load_judged++;
		failed = judge_load(order, incarnation, incarnation->begin);
	}
	return failed;
}

/* Judges the names of all loads in the range of @map again, because @map may have changed them. */
static int judge_loads_below_map(struct jit_order_state *order, const struct jp_event *map)
{
	uint64_t start = map->map.addr, end = start + map->map.len;
	int failed = 0;

	for (size_t i = jp_incarnations_find_from(&order->incarnations, map->pid, start);
	     !failed && i < order->incarnations.count; i++) {
		struct jp_incarnation *incarnation = &order->incarnations.incarnations[i];

		if (incarnation->code->pid != map->pid || incarnation->code->addr >= end)
			break;
		if (order->state[i].begun && !order->state[i].failed &&
		    map->time < incarnation->end &&
		    start < incarnation->code->addr + incarnation->code->size)
			failed = judge_load(order, incarnation, map->time);
	}
	return failed;
}

/* Judges whether a record of injected code describes a load of its process at that time. */
static int judge_injected_record(struct jit_order_state *order, const struct jp_event *event,
				 const struct jp_mapping *mapping)
{
	const uint64_t slack = order->view->evidence->info.slack;
	const char *name = jp_names_find(order->naming.names, mapping, event->map.addr).text;
	const struct jp_incarnations *incarnations = &order->incarnations;

	order->injected++;
	for (size_t i = jp_incarnations_find_from(incarnations, event->pid, event->map.addr);
	     i < incarnations->count; i++) {
		const struct jp_truth_code *code = incarnations->incarnations[i].code;

		if (code->pid != event->pid || code->addr > event->map.addr)
			break;
		if (name && code->addr == event->map.addr && strcmp(code->name, name) == 0 &&
		    event->time + slack >= code->loaded &&
		    (code->unloaded == UINT64_MAX || event->time <= code->unloaded + slack))
			return 0;
	}
	order->misplaced++;
	return jp_findings_count_failure(
		&order->view->findings, "inject.stray",
		!jp_sample_is_watched(order->view->evidence, event->pid, UINT64_MAX) ? "unwatched"
		: name && jp_incarnations_has_other(incarnations, event->pid, name)  ? "wrong-owner"
										     : "no-code",
		"%.100s at %" PRIx64 " of pid %u, %" PRIu64 ": the process has no such code then",
		name ?: mapping->name, event->map.addr, event->pid, event->time);
}

static int count_hidden_loads(struct jit_order_state *order)
{
	struct jp_exception *exception;

	for (size_t i = 0; i < order->incarnations.count; i++) {
		const struct jp_incarnation *incarnation = &order->incarnations.incarnations[i];
		const struct jp_hider *hider = &incarnation->hider;

		if (!hider->time)
			continue;
		order->side->nr_hidden++;
		if (!order->is_last)
			continue;
		exception = jp_findings_count(&order->view->findings, "order.hidden", JP_METHODS,
					      hider->cause);
		if (!exception)
			return -ENOMEM;
		jp_count_in_image(exception, order->view->evidence->truth, incarnation->code);
		if (exception->count > 1)
			continue;
		snprintf(exception->example, sizeof(exception->example),
			 "%s of pid %u at %" PRIx64 ", loaded at %" PRIu64 ": %" PRIx64 "-%" PRIx64
			 " %.100s of %" PRIu64 " (offset %" PRIu64 ") hides it",
			 incarnation->code->name, incarnation->code->pid, incarnation->code->addr,
			 incarnation->published_time, hider->start, hider->end, hider->name,
			 hider->time, hider->file_offset);
	}
	return 0;
}

/* At the start of injected.data: counts the hidden loads of perf.data and resets their coverage. */
static int switch_to_injected(struct jit_order_state *order)
{
	int failed;

	if (!order->view->in_injected || order->side == &order->after)
		return 0;
	failed = count_hidden_loads(order);
	jp_incarnations_reset_covered(&order->incarnations);
	order->side = &order->after;
	order->is_last = true;
	return failed;
}

static int advance_to(struct jp_view *view, uint64_t time)
{
	struct jit_order_state *order = view->state;
	int failed = switch_to_injected(order);

	return failed || !order->is_last ? failed : begin_incarnations(order, time);
}

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	struct jit_order_state *order = view->state;
	const struct jp_mapping *mapping;
	int failed;

	if (event->type == JP_EVENT_SAMPLE)
		return judge_sample(order, event);
	if (event->type != JP_EVENT_MAP || event->kernel_map)
		return 0;
	mapping = jp_replay_find(view->spaces, event->pid, event->map.addr);
	if (!mapping)
		return 0;
	if (jp_names_injected(order->naming.names, mapping)) {
		failed = view->in_injected ? judge_injected_record(order, event, mapping) : 0;
		if (failed)
			return failed;
	} else {
		jp_incarnations_mark_covered(&order->incarnations, event, mapping->name);
		order->side->anon +=
			event->map.prot & JP_PROT_EXEC && mapping->backing != JP_BACKING_FILE;
	}
	return order->is_last ? judge_loads_below_map(order, event) : 0;
}

static int compare_by_begin(const void *a_index, const void *b_index, void *context)
{
	const struct jp_incarnation *incarnations = context;
	uint64_t a = incarnations[*(const size_t *)a_index].begin,
		 b = incarnations[*(const size_t *)b_index].begin;

	return (a > b) - (a < b);
}

static int report_strays(struct jit_order_state *order, const struct jp_strays *strays,
			 const char *cause, const char *reason)
{
	const struct jp_code_load *load = strays->first_load;
	int failed = 0;

	for (uint64_t i = 0; !failed && i < strays->count; i++)
		failed = jp_findings_count_failure(&order->view->findings, "order.stray", cause,
						   "%.100s of pid %u at %" PRIx64 ", %" PRIu64 " "
						   "bytes, loaded at %" PRIu64 ", in the jitdump "
						   "of pid %u: %s",
						   load->name, load->pid, load->addr, load->size,
						   load->time, load->owner, reason);
	return failed;
}

/* Reports contradictions between the jitdumps and the truth. Returns 0 or -ENOMEM. */
static int judge_dumps(struct jit_order_state *order)
{
	int failed = report_strays(order, &order->incarnations.nr_stray, "no-code",
				   "the truth has no such code")
			     ?: report_strays(order, &order->incarnations.nr_misplaced,
					      "wrong-owner", "the code belongs to another process");

	for (uint64_t i = 0; !failed && i < order->loads.folder.nr_bad; i++)
		failed = jp_findings_count_failure(&order->view->findings, "order.bad", "jitdump",
						   "%.380s", order->loads.folder.first_error.text);
	return failed;
}

/* Returns whether a watched process runs code that is not in a file. */
static bool runs_in_memory(const struct jp_evidence *evidence)
{
	const struct jp_capture_info *info = &evidence->info;

	for (size_t i = 0; i < evidence->truth->nr_activations; i++) {
		const struct jp_truth_activation *activation = &evidence->truth->activations[i];

		if (activation->enter > info->stopped || activation->leave < info->sampling ||
		    jp_evidence_is_process_older(evidence, activation->pid, activation->enter))
			continue;
		for (uint32_t depth = 0; depth < activation->path->depth; depth++)
			if (!activation->path->functions[depth]->in_file)
				return true;
	}
	return false;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	const struct jp_evidence *evidence = view->evidence;
	const size_t count = evidence->truth->nr_codes;
	struct jit_order_state *order = view->state;
	int failed;

	if (!view->asked->names)
		return 1;
	order->side = &order->before;
	order->is_last = !view->asked->injected;
	order->finder = jp_file_finder_of_run(evidence->dir);
	order->naming = (struct jp_naming){.view = view,
					   .names = jp_names_new(order->finder),
					   .loads = &order->loads,
					   .incarnations = &order->incarnations};
	order->state = calloc(count ?: 1, sizeof(*order->state));
	order->by_begin = calloc(count ?: 1, sizeof(*order->by_begin));
	failed = jp_code_loads_read(evidence->dir, &order->loads, err);
	if (failed)
		return failed;
	if (!order->finder || !order->naming.names || !order->state || !order->by_begin ||
	    jp_incarnations_collect(view, &order->loads, &order->incarnations))
		return jp_fail(err, ENOMEM, "%s: out of memory", evidence->dir);
	for (size_t i = 0; i < count; i++) {
		order->by_begin[i] = i;
		order->in_files |= evidence->truth->codes[i].in_file;
		order->in_memory |= !evidence->truth->codes[i].in_file;
	}
	order->needs_names = order->in_memory && (!order->in_files || runs_in_memory(evidence));
	qsort_r(order->by_begin, count, sizeof(*order->by_begin), compare_by_begin,
		order->incarnations.incarnations);
	return judge_dumps(order);
}

/* Adds the shares of right, wrong and unnamed samples of one file. @judged: role of the right
 * names. */
static void add_names(struct jp_findings *findings, const struct order_side *side,
		      const char *suffix, const struct jp_role *judged)
{
	for (int kind = JP_NAME_WRONG; kind < JP_NAMES; kind++) {
		const struct jp_role *role = kind == JP_NAME_RIGHT               ? judged
					     : kind == JP_NAME_WRONG && !*suffix ? &wrong_samples
										 : NULL;
		char name[48];

		snprintf(name, sizeof(name), "names.%s%s", jp_named_text[kind], suffix);
		jp_findings_add_role_rate(findings, role, name, side->nr_named[kind],
					  side->samples.count);
	}
}

/* Adds the share of judged loads with an exception of @kind. */
static void add_failed_share(struct jit_order_state *order, const char *kind)
{
	uint64_t count = 0;

	for (size_t i = 0; i < order->view->findings.nr_exceptions; i++)
		if (strcmp(order->view->findings.exceptions[i].kind, kind) == 0)
			count += order->view->findings.exceptions[i].count;
	jp_findings_add_rate(&order->view->findings, kind, count, order->load_judged);
}

/* Adds the metrics. @change: the effect of inject on names. */
static void add_metrics(struct jit_order_state *order, const struct jp_names_change *change)
{
	struct jp_findings *findings = &order->view->findings;
	const struct order_side *side = order->side;
	uint64_t twice = 0;

	for (size_t i = 0; i < order->incarnations.count; i++) {
		order->load_right += order->state[i].begun && !order->state[i].failed;
		twice += order->state[i].elf && order->state[i].map;
	}
	add_names(findings, side, "",
		  !order->needs_names ? &any_named_samples
		  : !order->in_files  ? &named_samples
				      : &some_named_samples);
	jp_findings_add_role_rate(findings, &unjudged_samples, "names.unjudged", side->nr_unjudged,
				  side->nr_unjudged + side->samples.count);
	jp_findings_add_rate(findings, "names.elf", side->elf, side->samples.count);
	jp_findings_add_rate(findings, "names.map", side->map, side->samples.count);
	jp_findings_add_count(findings, "names.twice", twice);
	jp_findings_add_role_rate(findings, order->in_memory ? &jp_counts_some : NULL, "load.right",
				  order->load_right, order->load_judged);
	add_failed_share(order, "load.wrong");
	add_failed_share(order, "load.unnamed");
	jp_findings_add_count(findings, "order.loads", order->incarnations.loads);
	jp_findings_add_rate(findings, "order.hidden", side->nr_hidden, order->incarnations.loads);
	jp_findings_add_count(findings, "order.stray",
			      order->incarnations.nr_stray.count +
				      order->incarnations.nr_misplaced.count);
	jp_findings_add_count(findings, "anon.before", order->before.anon);
	if (side != &order->after)
		return;
	jp_findings_add_count(findings, "anon.after", order->after.anon);
	jp_findings_add_rate(findings, "order.hidden.before", order->before.nr_hidden,
			     order->incarnations.loads);
	add_names(findings, &order->before, ".before", NULL);
	jp_findings_add_rate(findings, "names.covered", change->covered_bad, change->covered);
	jp_findings_add_role_rate(findings, order->needs_names ? &jp_counts_some : NULL,
				  "inject.better", change->nr_better, change->nr_in_both);
	jp_findings_add_rate(findings, "inject.worse", change->nr_worse, change->nr_in_both);
	jp_findings_add_count(findings, "inject.lost", change->nr_lost);
	jp_findings_add_rate(findings, "inject.stray", order->misplaced, order->injected);
}

/* Reports publications and names to the listener, if there is one. Returns 0 or -ENOMEM. */
static int inform_listener(struct jit_order_state *order)
{
	const struct jp_listener *listener = order->view->asked->listener;
	int failed = 0;

	if (!listener || order->view->added_back)
		return 0;
	for (size_t i = 0; i < order->incarnations.count && !failed; i++) {
		const struct jp_incarnation *incarnation = &order->incarnations.incarnations[i];
		const struct jp_publication publication = {
			incarnation->code, incarnation->published_time, incarnation->hider.time,
			incarnation->hider.name};

		if (incarnation->published_time != UINT64_MAX)
			failed = listener->publish(listener->context, &publication);
	}
	return failed ?: listener->name(listener->context, order->naming.names);
}

static int end(struct jp_view *view, struct jp_error *err)
{
	struct jit_order_state *order = view->state;
	struct jp_names_change change = {0};
	int failed = advance_to(view, UINT64_MAX)
			     ?: count_hidden_loads(order)
			     ?: inform_listener(order);

	if (!failed && view->asked->injected)
		failed = jp_names_compare_around_inject(&order->before.samples,
							&order->after.samples, &order->incarnations,
							&order->view->findings, &change);
	if (!failed)
		add_metrics(order, &change);
	return failed;
}

static void free_order(void *state)
{
	struct jit_order_state *order = state;

	jp_named_samples_free(&order->before.samples);
	jp_named_samples_free(&order->after.samples);
	free(order->by_begin);
	free(order->state);
	jp_incarnations_free(&order->incarnations);
	jp_code_loads_free(&order->loads);
	jp_names_free(order->naming.names);
	jp_file_finder_free(order->finder);
}

JP_DEFINE(validator, jit_order) = {
	.name = "jit_order",
	.traits = JP_WANTS_INJECTED | JP_LACKS_REGISTERS,
	.state_size = sizeof(struct jit_order_state),
	.begin = begin,
	.advance_to = advance_to,
	.handle = handle_event,
	.end = end,
	.free = free_order,
};

static const struct jp_excuse excuses[] = {
	{"names-no-publisher", "!publish=*", "names.unnamed load.unnamed", "*", NULL,
	 "the workload publishes no names"},
	{"names-publish-none", "publish=none*", "names.unnamed load.unnamed", "*", NULL,
	 "the workload publishes no names"},
	{"names-not-injected", "publish=jitdump* !inject=*", "names.unnamed load.unnamed",
	 "no-map not-elf not-anonymous", NULL, "a jitdump is of use once it is injected"},
	{"names-not-anonymous", NULL, "names.unnamed load.unnamed", "not-anonymous", NULL,
	 "perf takes names from a perf map for anonymous memory alone (perf.memfd-map)"},
	{"names-no-times", "publish=[mb]*", "names.wrong load.wrong", "stale later", NULL,
	 "a perf map has no times: the address has several names"},
	{"names-overlapped", "publish=[mb]*", "names.unnamed load.unnamed", "overlapped", NULL,
	 "perf looks into the map as if lines did not overlap"},
	{"order-not-injected", "!inject=*", "order.hidden", "*", NULL,
	 "the kernel reports merged mappings after the loads in them"},
	{"order-kept", "inject=keep", "order.hidden", "*", NULL,
	 "the kernel reports merged mappings after the loads in them, and they are kept"},
	{"order-names", "inject=keep", "load.unnamed", "hidden", "order.hidden",
	 "a later record covers the load"},
	{"order-inherited", "inject=keep", "load.unnamed names.unnamed", "not-injected",
	 "inherited", "a record of the parent hid it before the fork"},
	{"order-samples", "inject=keep", "names.unnamed", "hidden", "names.covered",
	 "a later record covers the load"},
};
JP_REGISTER_ROWS(excuse, excuses);
