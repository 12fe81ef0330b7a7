// SPDX-License-Identifier: GPL-2.0-only
#include "validators/stack_counts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/map.h"
#include "harness/base/order.h"
#include "harness/base/sort.h"
#include "harness/model/oracle/path_position.h"
#include "harness/model/unwind/methods.h"

/* Least number of judged samples of a process in its interval; largest number of processes with
 * metrics of their own. */
enum { LEAST_OF_PROCESS = 100, MOST_LISTED = 64 };
/* If one of these is missing, samples in emitted code cannot be distinguished from others. */
enum { UNCLASSED = JP_LACKS_ADDRESSES | JP_LACKS_TIME | JP_LACKS_THREADS };

static const struct jp_role judged_samples = {.bound = JP_LEAST_K, .steady = true};
static const struct jp_role unjudged_samples = {.bound = JP_MOST_UNJUDGED};
static const struct jp_role off_code = {
	.is_elsewhere = true,
	.tail = "of threads inside of a path, in no emitted code",
};
static const struct jp_role foreign = {
	.is_elsewhere = true,
	.foreign = true,
	.tail = "of processes that the truth does not know",
};
static const struct jp_role broken = {.fault = true};
/* Role of the number of distinct instructions: many samples of one instruction prove no more than
 * one. */
static const struct jp_role distinct_places = {
	.bound = JP_LEAST_DISTINCT,
	.lead = "",
	.tail = " distinct (function, offset) pairs were hit",
};

/* Role of the instructions with a breakpoint: a capture that ran out of time proves nothing about
 * the others. */
static const struct jp_role given_breakpoints = {
	.bound = JP_ALL_N,
	.serves = "insn.hit",
	.lead = "",
	.tail = " instructions had a breakpoint",
};

int jp_stack_counts_init(struct jp_stack_counts *counts, const struct jp_evidence *evidence)
{
	memset(counts, 0, sizeof(*counts));
	counts->granted_least = UINT64_MAX;
	counts->processes =
		calloc(evidence->intervals.nr_processes + 1, sizeof(*counts->processes));
	return counts->processes ? 0 : -ENOMEM;
}

void jp_stack_counts_free(struct jp_stack_counts *counts)
{
	free(counts->places);
	free(counts->processes);
}

int jp_stack_counts_place(struct jp_stack_counts *counts, uint32_t id, uint32_t offset)
{
	return jp_array_append(&counts->places, &counts->nr_places, &counts->places_capacity,
			       (uint64_t)id << 32 | offset);
}

void jp_stack_counts_verdict(struct jp_stack_counts *counts, enum jp_method method,
			     enum jp_verdict verdict, uint64_t weight)
{
	struct jp_method_count *count = &counts->methods[method];
	const char *cause, *metric = jp_stack_counts_metric(verdict, &cause);

	count->judged += weight;
	count->verdicts[verdict] += weight;
	count->broken += metric && strcmp(metric, "broken") == 0 ? weight : 0;
}

const char *jp_stack_counts_metric(enum jp_verdict verdict, const char **cause)
{
	switch (verdict) {
	case JP_WRONG:
		*cause = "wrong-frame";
		return "wrong";
	case JP_EXTRA:
		*cause = "extra-frame";
		return "extra";
	case JP_SINGLE:
	case JP_SHORT:
	case JP_HOLE:
		*cause = jp_verdict_text(verdict);
		return "broken";
	case JP_UNMAPPED:
		return "broken";
	default:
		return NULL;
	}
}

int jp_stack_counts_stackless(struct jp_stack_counts *counts, struct jp_view *view,
			      const struct jp_event *event)
{
	const enum jp_method method = view->evidence->declared.method;
	struct jp_exception *exception =
		jp_findings_count(&view->findings, "broken", method, "short");

	counts->samples++;
	jp_stack_counts_verdict(counts, method, JP_SHORT, 1);
	if (exception && exception->count == 1)
		snprintf(exception->example, sizeof(exception->example),
			 "at %" PRIu64 ", %u/%u: no frame, and the thread was in a path",
			 event->time, event->pid, event->tid);
	return exception ? 0 : -ENOMEM;
}

struct jp_exception *jp_stack_counts_change(struct jp_stack_counts *counts, struct jp_view *view,
					    enum jp_verdict old_verdict,
					    enum jp_verdict new_verdict, uint64_t weight)
{
	const enum jp_method method = view->evidence->declared.method;
	const char *cause = NULL, *metric = jp_stack_counts_metric(new_verdict, &cause);
	struct jp_exception *exception = jp_findings_count(&view->findings, metric, method, cause);

	if (old_verdict != JP_UNJUDGED) {
		counts->methods[method].judged -= weight;
		counts->methods[method].verdicts[old_verdict] -= weight;
	}
	jp_stack_counts_verdict(counts, method, new_verdict, weight);
	if (exception)
		exception->count += weight - 1;
	return exception;
}

/* Returns the number of instructions of @code if any path contains it, else 0. Adds the addresses
 * of these instructions to @addrs. Sets @findings->failed if out of memory. */
static uint64_t add_used_instructions(struct jp_map *addrs, const struct jp_truth *truth,
				      const struct jp_truth_code *code,
				      struct jp_findings *findings)
{
	bool is_used = false;

	for (size_t i = 0; !is_used && i < truth->nr_paths; i++)
		for (uint32_t d = 0; !is_used && d < truth->paths[i].depth; d++)
			is_used = truth->paths[i].functions[d] == code;
	for (uint32_t i = 0; is_used && i < code->layout->count; i++)
		if (!jp_map_at(addrs, code->addr + code->layout->insns[i].offset, sizeof(uint64_t)))
			findings->failed = true;
	return is_used ? code->layout->count : 0;
}

/* Adds how many distinct instructions were sampled; with breakpoints also their share. A breakpoint
 * at one address samples each instruction that was there in turn. */
static void count_places(const struct jp_stack_counts *counts, const struct jp_evidence *evidence,
			 struct jp_findings *findings)
{
	const struct jp_truth *truth = evidence->truth;
	uint64_t distinct = 0, instructions = 0, addresses;
	struct jp_map addrs = {0};

	jp_sort(counts->places, counts->nr_places, jp_compare_by_value);
	for (size_t i = 0; i < counts->nr_places; i++)
		distinct += !i || counts->places[i] != counts->places[i - 1];
	jp_findings_add_role_count(findings, &distinct_places, "distinct", distinct);
	if (!evidence->info.breakpoints)
		return;
	for (size_t i = 0; i < truth->nr_codes; i++)
		instructions += add_used_instructions(&addrs, truth, &truth->codes[i], findings);
	addresses = addrs.count;
	jp_map_free(&addrs);
	if (distinct > evidence->info.breakpoints + (instructions - addresses))
		snprintf(findings->error, sizeof(findings->error),
			 "samples at %" PRIu64 " instructions; the capture gave %" PRIu64 " a "
			 "breakpoint",
			 distinct, evidence->info.breakpoints);
	if (evidence->info.breakpoints < addresses)
		jp_findings_add_role_rate(findings, &given_breakpoints, "insn.given",
					  evidence->info.breakpoints, addresses);
	jp_findings_add_rate(findings, "insn.hit", distinct, instructions);
}

static void add_cause_metrics(const struct jp_stack_counts *counts, struct jp_findings *findings)
{
	for (size_t i = 0; i < findings->nr_exceptions; i++) {
		const struct jp_exception *exception = &findings->exceptions[i];
		char name[48];

		if (strcmp(exception->kind, "broken") != 0)
			continue;
		snprintf(name, sizeof(name), "broken.%s.%.24s", jp_method_name(exception->method),
			 exception->cause);
		jp_findings_add_role_rate(findings, &broken, name, exception->count,
					  counts->methods[exception->method].judged);
	}
}

static void add_method_metrics(const struct jp_method_count *count, enum jp_method method,
			       bool is_chosen, struct jp_findings *findings)
{
	const struct {
		const char *name;
		uint64_t k, n;
	} rates[] = {
		{"wrong", count->verdicts[JP_WRONG] + count->hidden_verdicts[0], count->judged},
		{"extra", count->verdicts[JP_EXTRA] + count->hidden_verdicts[1], count->judged},
		{"predicted", count->nr_predicted, count->judged},
		{"perfview", count->perfview, count->judged},
		{"flagged", count->flagged, count->verdicts[JP_SHORT]},
		/* Used only if the case selects methods: */
		{"complete", count->complete,
		 count->verdicts[JP_SHORT] + count->verdicts[JP_SINGLE]},
		{"exact", count->verdicts[JP_EXACT], count->judged},
	};
	char name[48];

	findings->judged[method] = true;
	findings->nr_predicted[method] = count->nr_predicted;
	memcpy(findings->verdicts[method], count->verdicts, sizeof(count->verdicts));
	memcpy(findings->in_kernel[method], count->in_kernel, sizeof(count->in_kernel));
	snprintf(name, sizeof(name), "judged.%s", jp_method_name(method));
	jp_findings_add_role_count(findings, &judged_samples, name, count->judged);
	snprintf(name, sizeof(name), "broken.%s", jp_method_name(method));
	jp_findings_add_role_rate(findings, &broken, name, count->broken, count->judged);
	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates) - (is_chosen ? 0 : 2); i++) {
		snprintf(name, sizeof(name), "%s.%s", rates[i].name, jp_method_name(method));
		jp_findings_add_rate(findings, name, rates[i].k, rates[i].n);
	}
}

/* Adds the account of one method: every sample in emitted code has a verdict of each judged
 * method. */
static int add_verdict_account(const struct jp_stack_counts *counts, enum jp_method method,
			       bool is_classed, struct jp_accounts *accounts)
{
	const struct jp_method_count *count = &counts->methods[method];
	struct jp_account *account;
	char name[32];
	int failed;

	snprintf(name, sizeof(name), "stacks.%s", jp_method_name(method));
	account = jp_accounts_open(accounts, name);
	if (!account)
		return -ENOMEM;
	account->of = is_classed ? "samples" : NULL;
	account->part = "code";
	account->total = counts->samples;
	failed = jp_account_count(account, "absent", count->absent);
	for (enum jp_verdict verdict = 0; verdict < JP_VERDICTS && !failed; verdict++)
		failed = jp_account_count(account, jp_verdict_text(verdict),
					  count->verdicts[verdict]);
	return failed;
}

/* Adds the metrics of each process, so that healthy processes do not hide a broken one. */
static void add_processes(const struct jp_stack_counts *counts, const struct jp_evidence *evidence,
			  struct jp_findings *findings)
{
	const size_t count = evidence->intervals.nr_processes;
	char name[48];

	for (enum jp_method method = 0; method < JP_METHODS && count; method++) {
		uint64_t judged = 0, nr_whole = 0, min = UINT64_MAX;

		if (!counts->methods[method].judged)
			continue;
		for (size_t i = 0; i < count; i++) {
			const struct jp_process_count *process = &counts->processes[i];

			judged += process->judged[method];
			nr_whole += process->nr_whole[method];
			min = jp_min(min, process->judged[method]);
			if (process->judged[method] < LEAST_OF_PROCESS && !*findings->error)
				snprintf(findings->error, sizeof(findings->error),
					 "too little evidence: process %zu (pid %u) has %" PRIu64
					 " samples judged by %s in its interval, %d are needed",
					 i + 1, evidence->intervals.processes[i].pid,
					 process->judged[method], jp_method_name(method),
					 LEAST_OF_PROCESS);
			snprintf(name, sizeof(name), "process.%zu.whole.%s", i + 1,
				 jp_method_name(method));
			if (i < MOST_LISTED)
				jp_findings_add_rate(findings, name, process->nr_whole[method],
						     process->judged[method]);
		}
		snprintf(name, sizeof(name), "gated.%s.whole", jp_method_name(method));
		jp_findings_add_rate(findings, name, nr_whole, judged);
		snprintf(name, sizeof(name), "gated.least.%s", jp_method_name(method));
		jp_findings_add_count(findings, name, min);
	}
}

int jp_stack_counts_add(struct jp_stack_counts *counts, struct jp_view *view)
{
	const struct jp_evidence *evidence = view->evidence;
	struct jp_findings *findings = &view->findings;
	bool is_chosen = view->asked->methods;
	int failed = 0;

	jp_findings_add_role_rate(findings, &unjudged_samples, "unjudged", counts->unjudged,
				  counts->samples);
	jp_findings_add_role_count(findings, &off_code, "elsewhere.code", counts->off_code);
	jp_findings_add_role_count(findings, &foreign, "elsewhere.process", counts->foreign);
	for (enum jp_method method = 0; method < JP_METHODS; method++) {
		const struct jp_method_count *count = &counts->methods[method];

		if (failed || (!count->judged && !count->verdicts[JP_UNJUDGED]))
			continue;
		add_method_metrics(count, method, is_chosen, findings);
		failed = add_verdict_account(counts, method,
					     !(evidence->declared.lacking & UNCLASSED),
					     &findings->accounts);
	}
	count_places(counts, evidence, findings);
	add_processes(counts, evidence, findings);
	if (!is_chosen || failed)
		return failed;
	jp_findings_add_rate(findings, "in.kernel", counts->kernel, counts->samples);
	add_cause_metrics(counts, findings);
	if (counts->granted_least != UINT64_MAX)
		jp_findings_add_count(findings, "dump.granted", counts->granted_least);
	return 0;
}

/* Highest share of a function's samples at an instruction that runs once per call. */
static const double ONCE = 0.5;

struct jp_stack_leaf jp_stack_leaf_find(const struct jp_truth_stack *truth)
{
	const struct jp_truth_path *path = truth->activation->path;
	const struct jp_truth_code *code = path->functions[truth->depth];
	/* A function that jumps to the next one instead of calling it has no return address. */
	const bool is_caller = truth->depth + 1 < path->depth && !jp_truth_is_tail_call(code);

	return (struct jp_stack_leaf){
		.is_caller = is_caller,
		.returned = is_caller && truth->offset == jp_truth_return_insn(code)->offset,
		.begins = !truth->offset,
	};
}

static void count_sample_once(struct jp_stack_once *once, enum jp_verdict verdict,
			      bool is_predicted, uint64_t weight)
{
	once->nr_samples += weight;
	once->verdicts[verdict] += weight;
	once->nr_predicted += is_predicted ? weight : 0;
}

void jp_stack_leaves_add(struct jp_stack_leaves *leaves, struct jp_stack_leaf leaf,
			 enum jp_verdict verdict, bool predicted, uint64_t weight)
{
	if (verdict < JP_GAP)
		return;
	leaves->nr_good += weight;
	leaves->nr_callers += leaf.is_caller ? weight : 0;
	if (leaf.returned)
		count_sample_once(&leaves->returned, verdict, predicted, weight);
	if (leaf.begins)
		count_sample_once(&leaves->begins, verdict, predicted, weight);
}

static int judge_sample_once(const struct jp_stack_once *once, uint64_t total,
			     enum jp_verdict new_verdict, const char *description,
			     struct jp_stack_counts *counts, struct jp_view *view)
{
	const struct jp_metric share = jp_metric_rate("", once->nr_samples, total);

	if (!total || share.lo <= ONCE)
		return 0;
	counts->methods[view->evidence->declared.method].nr_predicted -= once->nr_predicted;
	for (enum jp_verdict old_verdict = JP_GAP; old_verdict <= JP_EXACT; old_verdict++) {
		const uint64_t weight = once->verdicts[old_verdict];
		struct jp_exception *exception =
			weight ? jp_stack_counts_change(counts, view, old_verdict, new_verdict,
							weight)
			       : NULL;

		if (weight && !exception)
			return -ENOMEM;
		if (exception && exception->count == weight)
			snprintf(exception->example, sizeof(exception->example),
				 "%" PRIu64 " of %" PRIu64 " samples %s", once->nr_samples, total,
				 description);
	}
	return 0;
}

int jp_stack_leaves_judge(const struct jp_stack_leaves *leaves, struct jp_stack_counts *counts,
			  struct jp_view *view)
{
	return judge_sample_once(&leaves->returned, leaves->nr_callers, JP_HOLE,
				 "in functions that call another are at the return address of that "
				 "call: the innermost frame is left out",
				 counts, view)
		       ?: judge_sample_once(
				  &leaves->begins, leaves->nr_good, JP_WRONG,
				  "are at a function's first address, where no thread stays",
				  counts, view);
}
