// SPDX-License-Identifier: GPL-2.0-only
/*
 * Broken stacks: every sample in emitted code gets one verdict for each method, the kernel's
 * callchain and our unwinding of the dumped stack.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/evidence_gate.h"
#include "harness/machine.h"
#include "harness/replay.h"
#include "harness/unwind.h"
#include "harness/validator.h"
#include "validators/stack_verdict.h"

enum { MAX_FRAMES = 1024 };

struct method {
	uint64_t judged, broken, verdicts[JP_VERDICTS], predicted, perfview, flagged;
};

/* Of one process of a gated capture. */
struct process {
	uint64_t judged[JP_METHODS], whole[JP_METHODS];
};
/* Fewer judged samples in its interval say nothing of a process. */
enum { LEAST_OF_PROCESS = 100, MOST_LISTED = 64 };

struct stacks {
	const struct jp_evidence *evidence;
	struct jp_findings *findings;
	struct jp_replay *replay;
	struct jp_unwinder *unwinder;
	const struct jp_machine *machine;
	struct jp_truth_stack truth;
	struct method methods[JP_METHODS];
	uint64_t samples, unjudged; /* of all samples in emitted code */
	struct process *processes;  /* one per announcement */
	uint64_t *places;           /* function id << 32 | offset of each judged sample */
	size_t nr_places, room_places;
};

/* What one method observed of one sample. */
struct seen {
	const uint64_t *frames;
	uint32_t count;
	bool cut;       /* the capture itself shows that there is more: a full chain, a full dump */
	char cause[32]; /* of its end, where that is not the root */
	char text[256];
};

static const char *const method_names[JP_METHODS] = {"chain", "dump"};

static void name_unmapped(struct stacks *stacks, const struct jp_event *event, uint64_t ip,
			  struct seen *seen)
{
	snprintf(seen->cause, sizeof(seen->cause), "%s",
		 jp_evidence_unmapped(stacks->evidence, event->pid, ip, event->time, seen->text,
				      sizeof(seen->text)));
}

static void see_chain(struct stacks *stacks, const struct jp_event *event, struct seen *seen)
{
	uint64_t nr_addresses = 0;

	seen->count = jp_event_user_chain(event, &seen->frames);
	for (uint64_t i = 0; i < event->sample.nr_chain; i++)
		nr_addresses += event->sample.chain[i] < JP_CONTEXT_MAX;
	if (nr_addresses >= stacks->evidence->facts.max_stack) {
		seen->cut = true;
		snprintf(seen->cause, sizeof(seen->cause), "max-stack");
		snprintf(seen->text, sizeof(seen->text),
			 "the kernel stores no more than %" PRIu64
			 " addresses (kernel.perf_event_max_stack)",
			 stacks->evidence->facts.max_stack);
	} else {
		snprintf(seen->cause, sizeof(seen->cause), "kernel-walk");
		snprintf(seen->text, sizeof(seen->text), "the kernel's walk ended here");
	}
}

static void see_dump(struct stacks *stacks, const struct jp_event *event, uint64_t *room,
		     struct seen *seen)
{
	enum jp_unwind_stop stop;
	uint64_t where = 0;

	seen->frames = room;
	seen->count =
		jp_unwind(stacks->unwinder, stacks->replay, event, room, MAX_FRAMES, &stop, &where);
	seen->cut =
		stop == JP_UNWIND_DUMP_END && event->sample.stack_size == event->sample.stack_asked;
	if (stop == JP_UNWIND_UNMAPPED) {
		name_unmapped(stacks, event, where, seen);
		return;
	}
	snprintf(seen->cause, sizeof(seen->cause), "%s", jp_unwind_stop_text(stop));
	snprintf(seen->text, sizeof(seen->text), "unwinding stopped at %" PRIx64 ": %s", where,
		 jp_unwind_stop_text(stop));
}

/* PerfView calls a stack broken when its outermost module is none that threads start in. */
static bool perfview_broken(struct stacks *stacks, const struct jp_event *event,
			    const struct seen *seen)
{
	const struct jp_mapping *outermost;

	if (!seen->count)
		return true;
	outermost = jp_replay_find(stacks->replay, event->pid, seen->frames[seen->count - 1]);
	return !outermost || outermost->backing != JP_BACKING_FILE;
}

/* Records one bad stack with everything that someone who doubts it would ask for. */
static int except(struct stacks *stacks, const struct jp_event *event, enum jp_method method,
		  const char *metric, enum jp_verdict verdict, const struct seen *seen)
{
	const struct jp_truth_stack *truth = &stacks->truth;
	const struct jp_truth_code *code = truth->stay->path->functions[truth->depth];
	uint32_t same = 0;
	char name[48];

	while (same < seen->count && same < truth->nr_seen &&
	       seen->frames[same] == truth->seen[same])
		same++;
	snprintf(name, sizeof(name), "%s.%s", metric, method_names[method]);
	return jp_findings_except(stacks->findings, name, seen->cause,
				  "%s at %" PRIu64 ", %u/%u, ip %" PRIx64
				  " in %s+%#x, depth %u of %u: %u frames seen, "
				  "%u must be, equal up to frame %u; %s",
				  jp_verdict_text(verdict), event->time, event->pid, event->tid,
				  truth->whole[0], code->name, truth->offset, truth->depth + 1,
				  truth->stay->path->depth, seen->count, truth->nr_seen, same,
				  seen->text);
}

static void count_process(struct stacks *stacks, const struct jp_event *event,
			  enum jp_method method, enum jp_verdict verdict)
{
	const struct jp_evidence *evidence = stacks->evidence;
	const struct jp_interval *interval =
		jp_intervals_at(&evidence->intervals, event->time, evidence->facts.slack);

	if (!interval || interval->pid != event->pid)
		return;
	stacks->processes[interval->process].judged[method]++;
	stacks->processes[interval->process].whole[method] +=
		verdict == JP_EXACT || verdict == JP_GAP;
}

static int judge_method(struct stacks *stacks, const struct jp_event *event, enum jp_method method,
			uint64_t *room)
{
	struct method *count = &stacks->methods[method];
	const struct jp_truth_stack *truth = &stacks->truth;
	const struct jp_mapping *known =
		jp_replay_find(stacks->replay, event->pid, truth->whole[0]);
	struct seen seen = {0};
	enum jp_verdict verdict;

	if (method == JP_CHAIN)
		see_chain(stacks, event, &seen);
	else
		see_dump(stacks, event, room, &seen);
	verdict = jp_stack_verdict(seen.frames, seen.count, truth->seen, truth->nr_seen,
				   truth->whole, truth->nr_whole);
	if (method == JP_CHAIN && event->sample.user && event->sample.ip != truth->whole[0]) {
		/* Flat profiles show this address, and never look at the chain. */
		verdict = JP_WRONG;
		snprintf(seen.cause, sizeof(seen.cause), "sample-ip");
		snprintf(seen.text, sizeof(seen.text), "the sample's own address is %" PRIx64,
			 event->sample.ip);
	} else if (verdict == JP_WRONG) {
		snprintf(seen.cause, sizeof(seen.cause), "wrong-frame");
	}
	count->predicted += seen.count == truth->nr_seen &&
			    memcmp(seen.frames, truth->seen, seen.count * sizeof(uint64_t)) == 0;
	if (!known || !(known->prot & JP_PROT_EXEC)) {
		verdict = JP_UNMAPPED;
		name_unmapped(stacks, event, truth->whole[0], &seen);
	}
	count->judged++;
	count->verdicts[verdict]++;
	count->flagged += verdict == JP_SHORT && seen.cut;
	count->perfview += perfview_broken(stacks, event, &seen);
	count_process(stacks, event, method, verdict);
	switch (verdict) {
	case JP_UNMAPPED:
	case JP_SINGLE:
	case JP_SHORT:
		count->broken++;
		return except(stacks, event, method, "broken", verdict, &seen);
	case JP_HOLE:
		count->broken++;
		snprintf(seen.cause, sizeof(seen.cause), "hole");
		return except(stacks, event, method, "broken", verdict, &seen);
	case JP_WRONG:
		return except(stacks, event, method, "wrong", verdict, &seen);
	case JP_EXTRA:
		snprintf(seen.cause, sizeof(seen.cause), "extra-frame");
		return except(stacks, event, method, "extra", verdict, &seen);
	default:
		return 0;
	}
}

static int note_place(struct stacks *stacks)
{
	const struct jp_truth_stack *truth = &stacks->truth;

	if (stacks->nr_places == stacks->room_places) {
		size_t room = stacks->room_places ? 2 * stacks->room_places : 4096;
		uint64_t *bigger = realloc(stacks->places, room * sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		stacks->places = bigger;
		stacks->room_places = room;
	}
	stacks->places[stacks->nr_places++] =
		(uint64_t)truth->stay->path->functions[truth->depth]->id << 32 | truth->offset;
	return 0;
}

static int judge_sample(struct stacks *stacks, const struct jp_event *event)
{
	const struct jp_evidence *evidence = stacks->evidence;
	uint64_t room[MAX_FRAMES], ip, sp;
	bool noted = false;

	if (!jp_machine_user(stacks->machine, event, &ip, &sp))
		return 0;
	if (!jp_truth_code_at(evidence->truth, event->pid, ip, event->time))
		return 0;
	stacks->samples++;
	for (enum jp_method method = 0; method < JP_METHODS; method++) {
		enum jp_stack_answer answer;
		int failed = 0;

		/* A dump that was asked for and is not there is a broken stack, not none. */
		if (method == JP_CHAIN ? !event->sample.chain : !evidence->facts.stack_dump)
			continue;
		answer = jp_truth_stack_at(evidence->truth, event->pid, event->tid, event->time,
					   evidence->facts.slack, ip, sp, method, &stacks->truth);
		if (answer == JP_STACK_UNJUDGED) {
			stacks->methods[method].verdicts[JP_UNJUDGED]++;
			stacks->unjudged += !noted;
			noted = true;
			continue;
		}
		if (answer != JP_STACK_FOUND) {
			/* The truth forbids this sample: no such stack was ever there. */
			stacks->methods[method].judged++;
			stacks->methods[method].verdicts[JP_WRONG]++;
			failed = jp_findings_except(
				stacks->findings, method == JP_CHAIN ? "wrong.chain" : "wrong.dump",
				answer == JP_STACK_NO_STAY ? "no-stay" : "no-depth",
				"at %" PRIu64 ", %u/%u: ip %" PRIx64 " sp %" PRIx64 " %s",
				event->time, event->pid, event->tid, ip, sp,
				answer == JP_STACK_NO_STAY
					? "in emitted code while the thread was in no path"
					: "fits no depth of the path");
			if (failed)
				return failed;
			continue;
		}
		if (!noted)
			failed = note_place(stacks);
		noted = true;
		if (!failed)
			failed = judge_method(stacks, event, method, room);
		if (failed)
			return failed;
	}
	return 0;
}

static int visit(void *context, const struct jp_event *event)
{
	struct stacks *stacks = context;

	if (event->type == JP_EVENT_SAMPLE)
		return judge_sample(stacks, event);
	return jp_replay_apply(stacks->replay, event);
}

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* Of all instructions of functions that are in some path that was walked, how many were hit? */
static void count_places(struct stacks *stacks)
{
	const struct jp_truth *truth = stacks->evidence->truth;
	uint64_t distinct = 0, instructions = 0;

	if (stacks->nr_places)
		qsort(stacks->places, stacks->nr_places, sizeof(uint64_t), by_value);
	for (size_t i = 0; i < stacks->nr_places; i++)
		distinct += !i || stacks->places[i] != stacks->places[i - 1];
	jp_findings_add(stacks->findings, jp_metric_count("distinct", distinct));
	if (!stacks->evidence->facts.breakpoints)
		return;
	for (size_t i = 0; i < truth->nr_codes; i++) {
		bool used = false;

		for (size_t j = 0; !used && j < truth->nr_paths; j++)
			for (uint32_t d = 0; !used && d < truth->paths[j].depth; d++)
				used = truth->paths[j].functions[d] == &truth->codes[i];
		instructions += used ? truth->codes[i].layout->count : 0;
	}
	jp_findings_add(stacks->findings, jp_metric_rate("insn.hit", distinct, instructions));
}

static void add_metrics(struct stacks *stacks)
{
	struct jp_findings *findings = stacks->findings;

	jp_findings_add(findings, jp_metric_rate("unjudged", stacks->unjudged, stacks->samples));
	for (enum jp_method method = 0; method < JP_METHODS; method++) {
		const struct method *count = &stacks->methods[method];
		const struct {
			const char *name;
			uint64_t k, n;
		} rates[] = {
			{"broken", count->broken, count->judged},
			{"wrong", count->verdicts[JP_WRONG], count->judged},
			{"extra", count->verdicts[JP_EXTRA], count->judged},
			{"predicted", count->predicted, count->judged},
			{"perfview", count->perfview, count->judged},
			{"flagged", count->flagged, count->verdicts[JP_SHORT]},
		};
		char name[48];

		if (!count->judged && !count->verdicts[JP_UNJUDGED])
			continue;
		findings->judged[method] = true;
		memcpy(findings->verdicts[method], count->verdicts, sizeof(count->verdicts));
		snprintf(name, sizeof(name), "judged.%s", method_names[method]);
		jp_findings_add(findings, jp_metric_count(name, count->judged));
		for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
			snprintf(name, sizeof(name), "%s.%s", rates[i].name, method_names[method]);
			jp_findings_add(findings, jp_metric_rate(name, rates[i].k, rates[i].n));
		}
	}
	count_places(stacks);
}

/* Each process by itself: one that is broken must not hide among those that are not. */
static void add_processes(struct stacks *stacks)
{
	const size_t count = stacks->evidence->intervals.nr_processes;
	struct jp_findings *findings = stacks->findings;
	char name[48];

	for (enum jp_method method = 0; method < JP_METHODS && count; method++) {
		uint64_t judged = 0, whole = 0, least = UINT64_MAX;

		if (!stacks->methods[method].judged)
			continue;
		for (size_t i = 0; i < count; i++) {
			const struct process *process = &stacks->processes[i];

			judged += process->judged[method];
			whole += process->whole[method];
			least = process->judged[method] < least ? process->judged[method] : least;
			if (process->judged[method] < LEAST_OF_PROCESS && !*findings->error)
				snprintf(findings->error, sizeof(findings->error),
					 "too little evidence: process %zu (pid %u) has %" PRIu64
					 " samples judged by %s in its interval, %d are needed",
					 i + 1, stacks->evidence->intervals.processes[i].pid,
					 process->judged[method], method_names[method],
					 LEAST_OF_PROCESS);
			snprintf(name, sizeof(name), "process.%zu.whole.%s", i + 1,
				 method_names[method]);
			if (i < MOST_LISTED)
				jp_findings_add(findings,
						jp_metric_rate(name, process->whole[method],
							       process->judged[method]));
		}
		snprintf(name, sizeof(name), "gated.%s.whole", method_names[method]);
		jp_findings_add(findings, jp_metric_rate(name, whole, judged));
		snprintf(name, sizeof(name), "gated.least.%s", method_names[method]);
		jp_findings_add(findings, jp_metric_count(name, least));
	}
}

static int judge(const struct jp_evidence *evidence, enum jp_left_out add_back,
		 struct jp_findings *findings, struct jp_error *err)
{
	struct stacks stacks = {.evidence = evidence, .findings = findings};
	char elf_dir[4096];
	int failed = -ENOMEM;

	stacks.machine = jp_machine_find(evidence->truth->e_machine);
	if (!stacks.machine)
		return jp_fail(err, ENOTSUP, "%s/truth: machine %u is not known here",
			       evidence->dir, evidence->truth->e_machine);
	snprintf(elf_dir, sizeof(elf_dir), "%s/elf", evidence->dir);
	stacks.replay = jp_replay_new();
	stacks.unwinder = jp_unwinder_new(elf_dir, false);
	stacks.processes = calloc(evidence->intervals.nr_processes + 1, sizeof(*stacks.processes));
	if (stacks.replay && stacks.unwinder && stacks.processes)
		failed = jp_evidence_walk(evidence, add_back, visit, &stacks, err);
	if (!failed) {
		add_metrics(&stacks);
		add_processes(&stacks);
	}
	jp_truth_stack_free(&stacks.truth);
	jp_unwinder_free(stacks.unwinder);
	jp_replay_free(stacks.replay);
	free(stacks.places);
	free(stacks.processes);
	return failed;
}

static const struct jp_validator broken_stacks = {
	.name = "broken_stacks",
	.help = "is each sample's stack, by each method, the one that was truly there?",
	.judge = judge,
};
JP_REGISTER(validator, broken_stacks);
