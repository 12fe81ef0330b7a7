// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/perfdata/own_attr.h"

#include <string.h>

#include "harness/format/event.h"

enum { LENGTH = 8 /* bytes of an execution breakpoint on x86 */ };

static void set_sampling(struct jp_perf_attr *own_attr, const struct jp_perf_attr *attr)
{
	const uint64_t deferred = JP_PERF_ATTR_DEFER_CALLCHAIN | JP_PERF_ATTR_DEFER_OUTPUT;

	own_attr->sample_type |=
		JP_PERF_SAMPLE_PERIOD | JP_PERF_SAMPLE_REGS_USER |
		(attr->sample_type & (JP_PERF_SAMPLE_CALLCHAIN | JP_PERF_SAMPLE_STACK_USER));
	own_attr->sample_regs_user = attr->sample_regs_user;
	own_attr->sample_stack_user = attr->sample_stack_user;
	if (!(own_attr->sample_type & JP_PERF_SAMPLE_CALLCHAIN))
		return;
	if (attr->sample_max_stack == JP_USUAL_MAX_STACK)
		own_attr->sample_max_stack = JP_USUAL_MAX_STACK;
	if (own_attr->flags & JP_PERF_ATTR_EXCLUDE_KERNEL)
		own_attr->flags |= JP_PERF_ATTR_EXCLUDE_CALLCHAIN_KERNEL;
	if (attr->flags & JP_PERF_ATTR_DEFER_CALLCHAIN)
		own_attr->flags |= deferred;
}

static void set_clock(struct jp_perf_attr *own_attr, const struct jp_perf_attr *attr)
{
	own_attr->config = attr->config;
	own_attr->sample_period = attr->sample_period;
	own_attr->flags |= JP_PERF_ATTR_FREQ | JP_PERF_ATTR_INHERIT;
	set_sampling(own_attr, attr);
}

static void set_breakpoint(struct jp_perf_attr *own_attr, const struct jp_perf_attr *attr)
{
	own_attr->sample_period = 1;
	own_attr->bp_type = JP_PERF_BREAKPOINT_X;
	own_attr->config1 = attr->config1;
	own_attr->config2 = LENGTH;
	own_attr->flags |= JP_PERF_ATTR_EXCLUDE_KERNEL | JP_PERF_ATTR_EXCLUDE_HV;
	set_sampling(own_attr, attr);
}

static void set_sideband(struct jp_perf_attr *own_attr, const struct jp_perf_attr *attr)
{
	own_attr->config = JP_PERF_SW_DUMMY;
	own_attr->flags |= JP_PERF_ATTR_INHERIT | JP_PERF_ATTR_MMAP | JP_PERF_ATTR_MMAP2 |
			   JP_PERF_ATTR_COMM | JP_PERF_ATTR_COMM_EXEC | JP_PERF_ATTR_TASK |
			   (attr->flags & JP_PERF_ATTR_MMAP_DATA);
}

bool jp_perf_is_own_attr(const struct jp_perf_attr *attr)
{
	const uint64_t kernel = JP_PERF_ATTR_EXCLUDE_KERNEL | JP_PERF_ATTR_EXCLUDE_HV;
	struct jp_perf_attr own_attr = {
		.type = attr->type,
		.size = attr->size,
		.sample_type = JP_PERF_SAMPLE_IDENTIFIER | JP_PERF_SAMPLE_IP | JP_PERF_SAMPLE_TID |
			       JP_PERF_SAMPLE_TIME | JP_PERF_SAMPLE_CPU,
		.read_format = JP_PERF_FORMAT_ID | (attr->read_format & JP_PERF_FORMAT_LOST),
		.flags = JP_PERF_ATTR_DISABLED | JP_PERF_ATTR_SAMPLE_ID_ALL |
			 JP_PERF_ATTR_USE_CLOCKID |
			 (attr->flags & JP_PERF_ATTR_EXCLUDE_KERNEL ? kernel : 0) |
			 (attr->flags & JP_PERF_ATTR_ENABLE_ON_EXEC),
		.wakeup_events = attr->wakeup_events,
		.clockid = JP_PERF_CLOCK_MONOTONIC,
	};

	if (attr->type == JP_PERF_TYPE_BREAKPOINT)
		set_breakpoint(&own_attr, attr);
	else if (attr->type == JP_PERF_TYPE_SOFTWARE && attr->config <= JP_PERF_SW_TASK_CLOCK)
		set_clock(&own_attr, attr);
	else
		set_sideband(&own_attr, attr);
	return memcmp(&own_attr, attr, sizeof(own_attr)) == 0;
}
