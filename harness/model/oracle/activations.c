// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/oracle/collect.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/base/search.h"
#include "harness/base/sort.h"

/* Returns whether a function continues to the next function of its path. */
static bool calls_next(const struct jp_truth_layout *layout)
{
	return layout->returns != UINT32_MAX || layout->tail != UINT32_MAX;
}

/* Stores the current version of @path as index + 1, or 0 if the path contradicts the loaded code.
 * Returns 0, -ENOMEM or -E2BIG. */
static int resolve_path(struct jp_truth_collector *collector,
			const struct jp_truth_process *process,
			const struct jp_truth_path_item *path, uint32_t *version)
{
	uint32_t *known =
		jp_map_at(&collector->version_of, jp_truth_make_key(process->process.pid, path->id),
			  sizeof(*known));
	struct jp_truth_version *fresh;
	uint32_t *codes;

	if (!known)
		return -ENOMEM;
	*version = 0;
	if (*known && collector->versions[*known - 1].generation == process->generation) {
		*version = *known;
		return 0;
	}
	collector->steps += path->depth;
	if (collector->steps > JP_TRUTH_MOST_STEPS)
		return -E2BIG;
	codes = malloc(path->depth * sizeof(*codes));
	if (!codes)
		return -ENOMEM;
	for (uint32_t d = 0; d < path->depth; d++) {
		uint32_t code_number =
			jp_truth_live_code(collector, process->process.pid, path->functions[d]);

		if (!code_number ||
		    (d + 1 < path->depth &&
		     !calls_next(collector->truth->codes[code_number - 1].layout))) {
			free(codes);
			return 0;
		}
		codes[d] = code_number - 1;
	}
	fresh = jp_array_push(&collector->versions, &collector->nr_versions,
			      &collector->versions_capacity);
	if (!fresh) {
		free(codes);
		return -ENOMEM;
	}
	*fresh = (struct jp_truth_version){process->generation, path->id, path->depth, codes};
	*known = *version = collector->nr_versions;
	return 0;
}

/* Closes the activation that is still open when its thread enters another one. */
static void close_open_activation(struct jp_truth_collector *collector, uint32_t *open,
				  const struct jp_truth_process *process,
				  const struct jp_event *event)
{
	struct jp_truth_activation *old;

	if (!*open)
		return;
	old = &collector->activations[*open - 1].activation;
	/* Either its process or image ended (jp_truth_build_activations() sets the end), or another
	 * process now has its tid, or the record of its end is missing. */
	if (old->pid != event->pid)
		old->leave = event->before;
	else if (process->ended < old->enter)
		jp_truth_count_contradiction(collector->truth);
	*open = 0;
}

int jp_truth_follow_enter(struct jp_truth_collector *collector, const struct jp_event *event)
{
	const struct jp_truth_root *chain = event->enter.chain, *dump = event->enter.dump;
	struct jp_truth_process *process =
		(struct jp_truth_process *)jp_processes_at(&collector->processes, event->pid);
	uint32_t version = 0, *open;
	int ret = 0;

	if (process && event->enter.path)
		ret = resolve_path(collector, process, event->enter.path, &version);
	if (ret)
		return ret;
	open = jp_map_at(&collector->activation_of, event->tid, sizeof(*open));
	if (!process || !open)
		return -ENOMEM;
	close_open_activation(collector, open, process, event);
	if (!version || !chain || !dump || chain->method != JP_CHAIN || dump->method != JP_DUMP ||
	    !chain->count || !dump->count) {
		jp_truth_count_contradiction(collector->truth);
		return 0;
	}
	if (jp_array_append(&collector->activations, &collector->nr_activations,
			    &collector->activations_capacity,
			    (struct jp_truth_open_activation){
				    {.pid = event->pid,
				     .tid = event->tid,
				     .enter = event->before,
				     .called = event->before,
				     .leave = UINT64_MAX,
				     .cpu = UINT64_MAX,
				     .sp = event->enter.sp,
				     .bp = event->enter.bp,
				     .other_stack = event->enter.flags & JP_ENTER_OTHER_STACK,
				     .root = {chain, dump}},
				    version - 1,
				    event->enter.flags & JP_ENTER_INTERRUPTED}))
		return -ENOMEM;
	*open = collector->nr_activations;
	return 0;
}

int jp_truth_follow_leave(struct jp_truth_collector *collector, const struct jp_event *event)
{
	uint32_t *open = jp_map_find(&collector->activation_of, event->tid);
	struct jp_truth_open_activation *left =
		open && *open ? &collector->activations[*open - 1] : NULL;

	if (!left || left->activation.pid != event->pid ||
	    collector->versions[left->path].id != event->leave.path) {
		jp_truth_count_contradiction(collector->truth);
		return 0;
	}
	left->activation.leave = event->after;
	if (collector->truth->version >= JP_TRUTH_VERSION_CPU) {
		left->activation.called += event->leave.entering;
		left->activation.cpu = event->leave.cpu;
	}
	left->activation.roots_changed = event->leave.flags & JP_LEAVE_CHANGED;
	left->activation.was_interrupted = event->leave.flags & JP_LEAVE_INTERRUPTED;
	left->activation.interrupted_ip = event->leave.ip;
	left->activation.interrupted_sp = event->leave.sp;
	*open = 0;
	return 0;
}

JP_ORDER(compare_by_pid, struct jp_truth_ending,
	 jp_compare(a->pid, b->pid) ?: jp_compare(a->before, b->before));

/* Returns the end of the first bracket in which @pid ended after @time, or UINT64_MAX. */
static uint64_t find_end_after(const struct jp_truth_collector *collector, uint32_t pid,
			       uint64_t time)
{
	const struct jp_truth_ending *ends = collector->ends;
	size_t i;

	jp_search(i, collector->nr_ends,
		  ends[i].pid < pid || (ends[i].pid == pid && ends[i].before < time));
	return i < collector->nr_ends && ends[i].pid == pid ? ends[i].after : UINT64_MAX;
}

JP_ORDER(compare_by_tid, struct jp_truth_activation,
	 jp_compare(a->tid, b->tid) ?: jp_compare(a->enter, b->enter));

/* Links each activation of a signal handler to the activation that it interrupted: the thread's
 * last activation before it. */
static void build_interrupted(struct jp_truth *truth)
{
	const struct jp_truth_activation *last = NULL;

	for (size_t i = 0; i < truth->nr_activations; i++) {
		struct jp_truth_activation *activation = &truth->activations[i];

		if (last && (last->tid != activation->tid || last->pid != activation->pid))
			last = NULL;
		if (activation->interrupted) {
			activation->interrupted = last;
			if (!last)
				jp_truth_count_contradiction(truth);
		}
		if (activation->was_interrupted)
			last = activation;
	}
}

int jp_truth_build_activations(struct jp_truth_collector *collector)
{
	struct jp_truth *truth = collector->truth;

	truth->activations = calloc(collector->nr_activations + 1, sizeof(*truth->activations));
	if (!truth->activations)
		return -ENOMEM;
	jp_sort(collector->ends, collector->nr_ends, compare_by_pid);
	for (size_t i = 0; i < collector->nr_activations; i++) {
		struct jp_truth_activation *activation = &truth->activations[i];

		*activation = collector->activations[i].activation;
		activation->path = &truth->paths[collector->activations[i].path];
		/* Marks a handler until build_interrupted() finds the activation. */
		activation->interrupted = collector->activations[i].interrupted ? activation : NULL;
		if (activation->leave == UINT64_MAX)
			activation->leave =
				find_end_after(collector, activation->pid, activation->enter);
	}
	truth->nr_activations = collector->nr_activations;
	jp_sort(truth->activations, truth->nr_activations, compare_by_tid);
	/* A thread's activations must not overlap, because the binary search depends on it. */
	for (size_t i = 1; i < truth->nr_activations; i++)
		if (truth->activations[i].tid == truth->activations[i - 1].tid &&
		    truth->activations[i - 1].leave > truth->activations[i].enter)
			truth->activations[i - 1].leave = truth->activations[i].enter;
	build_interrupted(truth);
	return 0;
}
