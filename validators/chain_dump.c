// SPDX-License-Identifier: GPL-2.0-only
/*
 * Chain and dump: a walk by frame pointers through the stack dump of a sample must give the
 * callchain that the kernel stored (perf_callchain_user() in arch/x86/events/core.c), as far as the
 * dump reaches. Judges samples of all processes, as this needs no truth. Exception: the parent of a
 * vfork() child continues when the child execs or exits (mm_release()), and may then write to the
 * shared stack between callchain and dump of the child's last sample.
 */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/map.h"
#include "harness/judge/validator.h"
#include "harness/model/unwind/stack_dump.h"

/* A sample whose callchain differs from its dump at index @index, and the address in the dump. */
struct differing {
	uint64_t time, ip, index, expected;
};

/* State of a process between its fork and its exec. */
struct newborn {
	bool alive;                      /* the process exists and has not called exec */
	struct differing last_differing; /* its last sample, if the chain differs and the sample was
				  taken in the kernel; else last.at is 0 */
};

struct chain_dump {
	struct jp_view *view;
	struct jp_map newborn; /* pid -> struct newborn */
	uint64_t samples, nr_bad, leaving;
};

/* Returns whether the chain has the most addresses that the kernel stores. */
static bool is_full(const struct chain_dump *state, const struct jp_event *event)
{
	const uint64_t markers = event->sample.chain[0] == JP_CONTEXT_KERNEL ? 2 : 1;
	const uint64_t limit = state->view->evidence->info.max_stack ?: JP_USUAL_MAX_STACK;

	return event->sample.nr_chain - markers >= jp_event_max_stack(event, limit);
}

/* Returns whether the chain differs from the dump or ends too early. Stores the index of the first
 * difference in *@index and the dump's address in *@dumped. */
static bool find_difference(const struct chain_dump *state, const struct jp_event *event,
			    uint64_t sp, uint64_t *index, uint64_t *dumped)
{
	const uint64_t *user;
	const uint64_t count = jp_event_user_chain(event, &user);
	const struct jp_machine_frames *frames = state->view->machine->frames;
	struct jp_stack_dump dump = {.bytes = event->sample.stack,
				     .sp = sp,
				     .size = event->sample.stack_size,
				     .narrow = frames->narrow};
	uint64_t fp = event->sample.regs->r[frames->fp], next;

	/* The kernel could not read user memory (nmi_uaccess_okay()). */
	if (count <= 1 && !event->sample.user)
		return false;
	for (*index = 1; jp_stack_dump_load(&dump, fp, &next) &&
			 jp_stack_dump_load(&dump, fp + jp_machine_word(frames), dumped);
	     ++*index, fp = next)
		if (*index >= count)
			return !is_full(state, event);
		else if (user[*index] != *dumped)
			return true;
	return false;
}

static int report(struct chain_dump *state, uint32_t pid, uint32_t tid, struct differing difference)
{
	state->nr_bad++;
	return jp_findings_count_failure(&state->view->findings, "chain.dump", "other-caller",
					 "at %" PRIu64 ", %u/%u, ip %" PRIx64 ": caller %" PRIu64
					 " by the dump is %" PRIx64 ", and not in the callchain",
					 difference.time, pid, tid, difference.ip, difference.index,
					 difference.expected);
}

/* Reports the stored sample of @pid: the process neither exec'd nor exited after it. */
static int report_last_sample(struct chain_dump *state, uint32_t pid, struct newborn *newborn)
{
	const struct differing last = newborn->last_differing;

	newborn->last_differing.index = 0;
	return last.index ? report(state, pid, pid, last) : 0;
}

/* Returns whether the sample has the callchain and dump that the comparison needs. Stores its user
 * registers in *@ip and *@sp. */
static bool is_judged(const struct jp_view *view, const struct jp_event *event, uint64_t *ip,
		      uint64_t *sp)
{
	/* Other profilers, whose samples may lack an event id, may walk the stack by other
	 * rules. */
	return event->asked && (event->id || view->evidence->info.first_enabled) &&
	       event->asked->user_chain && event->sample.chain && event->sample.nr_chain &&
	       !event->sample.chain_deferred && event->sample.stack_size &&
	       (view->machine->e_machine == EM_X86_64 || view->machine->e_machine == EM_386) &&
	       jp_machine_user(view->machine, event, ip, sp) && event->sample.regs &&
	       event->sample.regs->mask >> view->machine->frames->fp & 1;
}

static int handle_sample(struct chain_dump *state, const struct jp_event *event)
{
	struct newborn *newborn =
		event->pid == event->tid ? jp_map_find(&state->newborn, event->pid) : NULL;
	struct differing difference = {.time = event->time};
	uint64_t sp;

	if (newborn && report_last_sample(state, event->pid, newborn))
		return -ENOMEM;
	if (!is_judged(state->view, event, &difference.ip, &sp))
		return 0;
	state->samples++;
	if (!find_difference(state, event, sp, &difference.index, &difference.expected))
		return 0;
	if (!newborn || !newborn->alive || event->sample.user)
		return report(state, event->pid, event->tid, difference);
	newborn->last_differing = difference;
	return 0;
}

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	struct chain_dump *state = view->state;
	const bool has_left_group =
		event->type == JP_EVENT_EXIT || (event->type == JP_EVENT_COMM && event->comm.exec);
	struct newborn *newborn;

	if (event->type == JP_EVENT_SAMPLE)
		return handle_sample(state, event);
	if (event->pid != event->tid || (event->type != JP_EVENT_FORK && !has_left_group))
		return 0;
	newborn = jp_map_at(&state->newborn, event->pid, sizeof(*newborn));
	if (!newborn || (!has_left_group && report_last_sample(state, event->pid, newborn)))
		return -ENOMEM;
	state->leaving += has_left_group && newborn->last_differing.index;
	*newborn =
		(struct newborn){.alive = event->type == JP_EVENT_FORK && !event->task.was_running};
	return 0;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	struct chain_dump *state = view->state;
	struct newborn *newborn;
	uint64_t pid;
	int failed = 0;

	for (size_t cursor = 0; !failed && (newborn = jp_map_next(&state->newborn, &cursor, &pid));)
		failed = report_last_sample(state, (uint32_t)pid, newborn);
	jp_findings_add_rate(&view->findings, "chain.dump", state->nr_bad, state->samples);
	jp_findings_add_count(&view->findings, "chain.leaving", state->leaving);
	return failed;
}

static void free_chain_dump(void *state)
{
	struct chain_dump *chain_dump = state;

	jp_map_free(&chain_dump->newborn);
}

JP_DEFINE(validator, chain_dump) = {
	.name = "chain_dump",
	.traits = JP_LACKS_RECORDS | JP_LACKS_NAMES | JP_LACKS_MAPPINGS | JP_LACKS_TASKS,
	.state_size = sizeof(struct chain_dump),
	.handle = handle_event,
	.end = end,
	.free = free_chain_dump,
};
