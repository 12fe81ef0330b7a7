// SPDX-License-Identifier: GPL-2.0-only
#include "validators/sample_class.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/base/digest.h"
#include "harness/base/search.h"
#include "harness/model/oracle/oracle.h"
#include "validators/two_clocks.h"

/* Longest time, in ns, that native code runs at the borders of an activation, including page faults
 * in the truth's file. Used for truths before version 3, which do not contain this time. */
enum { OLD_BORDER_NS = 200000 };
/* Bytes below the interrupted stack pointer that the kernel skips for a signal frame on x86-64.
 * Other architectures skip fewer, but a signal frame itself is larger. */
enum { RED_ZONE = 128 };

const char *jp_sample_class_text(enum jp_sample_class class)
{
	static const char *const text[JP_SAMPLE_CLASSES] = {
		[JP_SAMPLE_CODE] = "code",     [JP_SAMPLE_OUTSIDE] = "outside",
		[JP_SAMPLE_ASTRAY] = "astray", [JP_SAMPLE_EDGE] = "edge",
		[JP_SAMPLE_BELOW] = "below",   [JP_SAMPLE_KERNEL] = "kernel",
		[JP_SAMPLE_NATIVE] = "native", [JP_SAMPLE_UNWATCHED] = "unwatched",
	};

	return (unsigned)class < JP_SAMPLE_CLASSES ? text[class] : "?";
}

enum jp_sample_class jp_sample_classify(const struct jp_sample_facts *facts)
{
	if (facts->code)
		return JP_SAMPLE_CODE;
	if (!facts->in_window)
		return JP_SAMPLE_OUTSIDE;
	if (facts->place == JP_IN_OTHERS)
		return JP_SAMPLE_ASTRAY;
	if (!facts->watched)
		return JP_SAMPLE_UNWATCHED;
	/* Only kernel threads and exiting tasks have no user registers. */
	if (!facts->user_part && facts->kernel && (facts->place != JP_INSIDE || facts->ended))
		return JP_SAMPLE_KERNEL;
	switch (facts->place) {
	case JP_IN_NONE:
		return JP_SAMPLE_NATIVE;
	case JP_IN_EDGE:
		return JP_SAMPLE_EDGE;
	case JP_IN_HANDLER:
		return JP_SAMPLE_BELOW;
	default:
		return JP_SAMPLE_ASTRAY;
	}
}

const char *jp_sample_stranger_cause(const struct jp_evidence *evidence, uint32_t pid)
{
	return jp_sample_is_watched(evidence, pid, UINT64_MAX) ? "unknown" : "other-process";
}

bool jp_sample_is_watched(const struct jp_evidence *evidence, uint32_t pid, uint64_t time)
{
	const struct jp_truth_incarnation *incarnations = evidence->truth->incarnations;
	const uint64_t slack = evidence->info.slack;
	size_t i;

	jp_search(i, evidence->truth->nr_incarnations, incarnations[i].pid < pid);
	for (; i < evidence->truth->nr_incarnations && incarnations[i].pid == pid; i++)
		if (time == UINT64_MAX || (incarnations[i].before <= time + slack &&
					   (incarnations[i].until == UINT64_MAX ||
					    time <= incarnations[i].until + slack)))
			return true;
	return false;
}

bool jp_sample_is_bystander(const struct jp_evidence *evidence, const struct jp_event *event)
{
	return jp_evidence_gates_records(evidence) &&
	       !jp_intervals_find_process(&evidence->intervals, event->pid, event->time);
}

bool jp_sample_is_in_window(const struct jp_evidence *evidence, uint64_t time)
{
	const struct jp_capture_info *info = &evidence->info;

	if (jp_evidence_is_gated(evidence))
		return jp_intervals_find(&evidence->intervals, time, info->slack);
	return time + info->slack >= info->sampling && time <= info->stopped + info->slack;
}

/* Returns whether @sp can belong to a handler that interrupted @interrupted: it is below the red
 * zone, or on another stack. */
static bool is_handler_stack(const struct jp_truth_activation *interrupted, uint64_t sp)
{
	return sp > interrupted->sp || sp + RED_ZONE < interrupted->interrupted_sp;
}

/* Returns whether a signal handler may run native code in @activation. A handler runs native code
 * before and after its own emitted code, which is another activation. */
static bool is_handler(const struct jp_truth *truth, const struct jp_truth_activation *activation,
		       uint64_t sp)
{
	const struct jp_truth_activation *previous = activation;

	if (!sp)
		return activation->was_interrupted;
	if (activation->was_interrupted && is_handler_stack(activation, sp))
		return true;
	do
		previous--;
	while (previous >= truth->activations && previous->tid == activation->tid &&
	       previous->interrupted);
	return previous >= truth->activations && previous->tid == activation->tid &&
	       previous->was_interrupted && previous->sp == activation->sp &&
	       previous->path == activation->path && is_handler_stack(previous, sp);
}

/* Returns whether native code is entering or leaving the activation: @sp, if known, is not below
 * the path's first frame, or [@from_ns, @to_ns] reaches beyond the activation's begin or end.
 */
static bool is_near_activation_border(const struct jp_truth *truth,
				      const struct jp_truth_activation *activation,
				      uint64_t from_ns, uint64_t to_ns, bool has_user, uint64_t sp)
{
	const uint64_t near = truth->version < JP_TRUTH_VERSION_CPU ? OLD_BORDER_NS : 0;

	return (has_user && sp && sp >= activation->sp) || from_ns <= activation->called + near ||
	       to_ns + near >= activation->leave;
}

/* Returns whether the witness has a sample of @activation's code after @from_ns and before
 * @to_ns. */
static bool runs_code(const struct jp_evidence *evidence,
		      const struct jp_truth_activation *activation, uint64_t from_ns,
		      uint64_t to_ns)
{
	const struct jp_witnessed *witnessed = &evidence->witnessed;

	for (size_t i = jp_witnessed_find_first_from(witnessed, activation->tid, from_ns + 1);
	     i < witnessed->count && witnessed->samples[i].tid == activation->tid &&
	     witnessed->samples[i].time < to_ns;
	     i++)
		if (witnessed->samples[i].user &&
		    jp_truth_code_at(evidence->truth, activation->pid, witnessed->samples[i].ip,
				     witnessed->samples[i].time))
			return true;
	return false;
}

/* Returns whether the handler in which @wait happened may run at @time, before or after the times
 * that it stated: the witness has no sample of emitted code in between. The handler reads these
 * times after its start and before its end. */
static bool may_run_handler(const struct jp_evidence *evidence,
			    const struct jp_truth_activation *activation,
			    const struct jp_event *wait, uint64_t time)
{
	const uint64_t handled = wait->wait.handled ?: wait->before;

	return evidence->witnessed.count && handled <= activation->leave &&
	       wait->after >= activation->enter &&
	       !(time < handled ? runs_code(evidence, activation, time, handled)
				: runs_code(evidence, activation, wait->after, time));
}

static bool is_handler_waiting(const struct jp_sample_facts_of *source,
			       const struct jp_truth_activation *activation, uint64_t from_ns,
			       uint64_t to_ns)
{
	for (size_t i = 0; i < source->nr_waits; i++) {
		const struct jp_event *act = source->waits[i];

		if (act->tid == activation->tid &&
		    (((act->wait.handled ?: act->before) <= to_ns && from_ns <= act->after) ||
		     may_run_handler(source->evidence, activation, act, from_ns)))
			return true;
	}
	return false;
}

/* Returns whether native code may be entering or leaving @activation at @time: the witness has no
 * sample in emitted code between @time and that border of the activation. A sample can be far from
 * the recorded border: the thread reads the time only after the sample's interrupt, and the kernel
 * may run other tasks first. A run without a witness has no such evidence. */
static bool may_be_near_border(const struct jp_evidence *evidence,
			       const struct jp_truth_activation *activation, uint64_t time)
{
	return (evidence->witnessed.count || evidence->witnessed.denied[0]) &&
	       (!runs_code(evidence, activation, activation->called, time) ||
		!runs_code(evidence, activation, time, activation->leave));
}

void jp_sample_count_witnessed(const struct jp_evidence *evidence, struct jp_sample_native *counts)
{
	const struct jp_truth_activation *activation = NULL;

	*counts = (struct jp_sample_native){0};
	for (size_t i = 0; i < evidence->witnessed.count; i++) {
		const struct jp_witness_sample *sample = &evidence->witnessed.samples[i];

		activation = jp_truth_activation_at(evidence->truth, activation, sample->tid,
						    sample->time);
		if (!activation || activation->leave < sample->time ||
		    !jp_clock_was_watched(evidence, sample->pid, sample->time, sample->time))
			continue;
		counts->within++;
		if (sample->user &&
		    jp_truth_code_at(evidence->truth, sample->pid, sample->ip, sample->time))
			continue;
		counts->native[!sample->user]++;
		counts->border[!sample->user] +=
			sample->time <= activation->called ||
			may_be_near_border(evidence, activation, sample->time);
	}
}

int jp_sample_facts_begin(struct jp_sample_facts_of *source, const struct jp_evidence *evidence)
{
	const struct jp_truth *truth = evidence->truth;

	*source = (struct jp_sample_facts_of){.evidence = evidence};
	for (size_t i = 0; i < truth->nr_acts; i++) {
		if (truth->acts[i].type != JP_EVENT_WAIT)
			continue;
		if (jp_array_append(&source->waits, &source->nr_waits, &source->waits_capacity,
				    &truth->acts[i]))
			return -ENOMEM;
	}
	return 0;
}

void jp_sample_facts_end(struct jp_sample_facts_of *source)
{
	free(source->waits);
}

bool jp_sample_has_no_frame(const struct jp_evidence *evidence, const struct jp_event *event)
{
	return evidence->declared.observed && event->observed && !event->observed->nr_names &&
	       jp_truth_is_inside(evidence->truth, event->tid, event->time, evidence->info.slack);
}

struct jp_sample_facts jp_sample_facts(struct jp_sample_facts_of *source,
				       const struct jp_event *event, bool has_user, uint64_t ip,
				       uint64_t sp)
{
	const struct jp_evidence *evidence = source->evidence;
	const struct jp_truth *truth = evidence->truth;
	const uint64_t slack = evidence->info.slack, time = event->time;
	const uint64_t from_ns = time > slack ? time - slack : 0, to_ns = time + slack;
	const struct jp_truth_activation *activation;
	struct jp_sample_facts facts = {
		.code = has_user ? jp_truth_code_at(truth, event->pid, ip, time) != NULL
				 : jp_sample_has_no_frame(evidence, event),
		.in_window = jp_sample_is_in_window(evidence, time),
		.watched = jp_sample_is_watched(evidence, event->pid, time),
		.user_part = has_user,
		.kernel = !event->sample.user,
	};

	activation = source->hint = jp_truth_activation_at(truth, source->hint, event->tid, to_ns);
	if (!activation || activation->leave < from_ns)
		return facts;
	facts.ended = activation->cpu == UINT64_MAX;
	if (is_near_activation_border(truth, activation, from_ns, to_ns, has_user, sp))
		facts.place = JP_IN_EDGE;
	else if (activation->pid != event->pid)
		facts.place = JP_IN_OTHERS;
	else if (has_user && (is_handler(truth, activation, sp) ||
			      is_handler_waiting(source, activation, from_ns, to_ns)))
		facts.place = JP_IN_HANDLER;
	else if (has_user && may_be_near_border(evidence, activation, time))
		facts.place = JP_IN_EDGE;
	else
		facts.place = JP_INSIDE;
	return facts;
}

/* A thread that calls exec gets the number of the first thread, which has ended. */
int jp_ended_threads_note(struct jp_map *ended, const struct jp_event *event)
{
	const bool is_exec = event->type == JP_EVENT_COMM && event->comm.exec;
	bool *has_ended;

	if (event->type != JP_EVENT_FORK && event->type != JP_EVENT_EXIT && !is_exec)
		return 0;
	has_ended = jp_map_at(ended, event->tid, sizeof(*has_ended));
	if (!has_ended)
		return -ENOMEM;
	*has_ended = event->type == JP_EVENT_EXIT;
	return 0;
}

/* perf_event_pid_type() gives a released thread the number UINT32_MAX. */
bool jp_ended_threads_have(const struct jp_map *ended, const struct jp_event *event)
{
	const bool *has_ended = jp_map_find(ended, event->tid);

	return ((has_ended && *has_ended) || event->tid == UINT32_MAX) && !event->sample.user &&
	       !event->sample.regs_abi;
}

static uint64_t digest_attributes(const struct jp_event_asked *requested)
{
	const uint64_t words[] = {
		requested->regs,  requested->stack,  requested->max_stack,  requested->period,
		requested->clock, requested->chain,  requested->user_chain, requested->kernel_chain,
		requested->user,  requested->kernel, requested->timed,      requested->inherit,
	};

	return jp_digest_bytes(0, words, sizeof(words));
}

uint64_t jp_sample_digest(const struct jp_event *event)
{
	const uint64_t words[] = {
		event->asked ? digest_attributes(event->asked) : 0,
		event->id,
		event->misc,
		event->time,
		event->pid,
		event->tid,
		event->cpu,
		event->sample.ip,
		event->sample.period,
		event->sample.regs_abi,
		event->sample.stack_asked,
	};
	const struct jp_regs *regs = event->sample.regs;
	uint64_t digest = jp_digest_bytes(0, words, sizeof(words));

	if (event->sample.chain)
		digest = jp_digest_bytes(digest, event->sample.chain,
					 event->sample.nr_chain * sizeof(uint64_t));
	for (int i = 0; regs && i < JP_REGS; i++)
		if (regs->mask >> i & 1)
			digest = jp_digest_bytes(digest, &regs->r[i], sizeof(regs->r[i]));
	return jp_digest_bytes(digest, event->sample.stack ?: (const void *)"",
			       event->sample.stack ? event->sample.stack_size : 0);
}
