// SPDX-License-Identifier: GPL-2.0-only
#include "validators/stack_fault.h"

#include <inttypes.h>
#include <stdio.h>

struct jp_stack_fault jp_stack_fault_get_unmapped(const struct jp_evidence *evidence,
						  const struct jp_spans *spans,
						  const struct jp_event *event, uint64_t ip)
{
	struct jp_stack_fault fault = {
		.kind = JP_FAULT_UNMAPPED,
		.unmapped = jp_unmapped(evidence, spans, event->pid, ip, event->time),
	};

	fault.cause = fault.unmapped.cause;
	return fault;
}

/* Returns whether the thread of @activation has not run its path between @start_time and this
 * activation, at the same or a lower stack pointer. It may then be the first to use a page of its
 * stack. */
static bool reaches_new_depth(const struct jp_truth *truth,
			      const struct jp_truth_activation *activation, uint64_t start_time)
{
	const struct jp_truth_activation *previous = activation;

	while (previous > truth->activations && (--previous)->tid == activation->tid &&
	       previous->pid == activation->pid && previous->enter >= start_time)
		if (previous->path == activation->path && previous->sp <= activation->sp)
			return false;
	return true;
}

/* Returns whether the sample may be from within a fault that copies a page of the stack, as the
 * first write to each page after a fork does: wp_page_copy() calls ptep_clear_flush(), so that for
 * a moment there is no page. */
static bool may_copy_stack(const struct jp_truth *truth,
			   const struct jp_truth_activation *activation,
			   const struct jp_event *event)
{
	uint64_t forked = UINT64_MAX;

	if (jp_event_cpu_mode(event) != JP_CPU_KERNEL)
		return false;
	for (size_t i = 0; i < truth->nr_acts && truth->acts[i].before <= event->time; i++)
		if (truth->acts[i].type == JP_EVENT_FORK &&
		    truth->acts[i].task.start_kind == JP_START_FORK &&
		    truth->acts[i].task.ppid == event->pid && truth->acts[i].pid != event->pid)
			forked = truth->acts[i].after;
	return forked != UINT64_MAX && reaches_new_depth(truth, activation, forked);
}

struct jp_stack_fault
jp_stack_fault_find_at_end(const struct jp_evidence *evidence, const struct jp_spans *spans,
			   const struct jp_truth_stack *truth, struct jp_unwinder *unwinder,
			   const struct jp_event *event, const struct jp_unwound *unwound)
{
	enum jp_unwind_stop stop = jp_unwind_chain_stop(unwinder, event, unwound);
	const char *cause = jp_unwind_stop_text(stop);

	switch (stop) {
	case JP_UNWIND_ROOT:
		return (struct jp_stack_fault){JP_FAULT_COMPLETE, "complete", {0}};
	case JP_UNWIND_MAX_STACK:
		return (struct jp_stack_fault){JP_FAULT_MAX_STACK, cause, {0}};
	case JP_UNWIND_KERNEL:
		if (unwound->count == 1 &&
		    may_copy_stack(evidence->truth, truth->activation, event))
			cause = "copied";
		return (struct jp_stack_fault){JP_FAULT_KERNEL, cause, {0}};
	case JP_UNWIND_UNMAPPED:
		return jp_stack_fault_get_unmapped(evidence, spans, event, unwound->stop_addr);
	case JP_UNWIND_BAD_CFI:
		/* The address is right, but no mapping record contains it. */
		if (unwound->count < truth->nr_whole &&
		    unwound->stop_addr != unwound->frames[unwound->count - 1] &&
		    unwound->stop_addr == truth->frames[unwound->count])
			return jp_stack_fault_get_unmapped(evidence, spans, event,
							   unwound->stop_addr - 1);
		break;
	case JP_UNWIND_DUMP_SHORT:
		if (event->sample.stack_size)
			break;
		if (reaches_new_depth(evidence->truth, truth->activation, 0))
			cause = "untouched";
		else if (may_copy_stack(evidence->truth, truth->activation, event))
			cause = "copied";
		break;
	default:
		break;
	}
	return (struct jp_stack_fault){JP_FAULT_STOP, cause, {0}};
}

const char *jp_stack_fault_text(const struct jp_stack_fault *fault,
				const struct jp_evidence *evidence, const struct jp_event *event,
				const struct jp_unwound *unwound, char *text, size_t size)
{
	switch (fault->kind) {
	case JP_FAULT_STOP:
		snprintf(text, size, "unwinding stopped at %" PRIx64 ": %s", unwound->stop_addr,
			 jp_unwind_stop_text(unwound->stop));
		break;
	case JP_FAULT_COMPLETE:
		snprintf(text, size, "the method reports it as whole");
		break;
	case JP_FAULT_MAX_STACK:
		snprintf(text, size,
			 "the kernel stores no more than %" PRIu64
			 " addresses (kernel.perf_event_max_stack)",
			 jp_event_max_stack(event, evidence->info.max_stack));
		break;
	case JP_FAULT_KERNEL:
		snprintf(text, size, "the kernel's walk ended here");
		break;
	case JP_FAULT_SAMPLE_IP:
		snprintf(text, size, "the sample's own address is %" PRIx64, event->sample.ip);
		break;
	case JP_FAULT_UNMAPPED:
		jp_unmapped_text(&fault->unmapped, text, size);
		break;
	}
	return text;
}
