/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/judge/unmapped.h"
#include "harness/model/oracle/oracle.h"
#include "harness/model/unwind/unwind.h"

/* Why a stack is broken: the cause, and data to describe it. */
struct jp_stack_fault {
	enum jp_stack_fault_kind {
		JP_FAULT_STOP, /* unwinding stopped at @unwound->where */
		JP_FAULT_COMPLETE,
		JP_FAULT_MAX_STACK,
		JP_FAULT_KERNEL,
		JP_FAULT_SAMPLE_IP, /* the sample's own address is wrong */
		JP_FAULT_UNMAPPED,
	} kind;
	const char *cause;
	struct jp_unmapped unmapped;
};

/* Returns the fault of @unwound, which ends before the root. */
struct jp_stack_fault
jp_stack_fault_find_at_end(const struct jp_evidence *evidence, const struct jp_spans *spans,
			   const struct jp_truth_stack *truth, struct jp_unwinder *unwinder,
			   const struct jp_event *event, const struct jp_unwound *unwound);
/* Returns the fault for an @ip that is in no executable mapping of the capture. */
struct jp_stack_fault jp_stack_fault_get_unmapped(const struct jp_evidence *evidence,
						  const struct jp_spans *spans,
						  const struct jp_event *event, uint64_t ip);
/* Stores a description of @fault in @text, of @size bytes. Returns @text. */
const char *jp_stack_fault_text(const struct jp_stack_fault *fault,
				const struct jp_evidence *evidence, const struct jp_event *event,
				const struct jp_unwound *unwound, char *text, size_t size);
