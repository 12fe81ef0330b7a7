// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/events.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/base/file.h"
#include "harness/base/own_machine.h"
#include "harness/format/rundir/watched.h"

/* The largest attr.size that perf 5.10 can read. */
enum { ATTR_SIZE = JP_PERF_ATTR_SIZE_WRITTEN };
/* attr.wakeup_watermark of the witness's ring: half of the smallest ring. */
enum { WITNESS_WAKE = 8 << 10 };

int jp_perf_open(struct perf_event_attr *attr, pid_t tid, int cpu)
{
	long fd = syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static void init_common_attr(struct perf_event_attr *attr, const struct jp_abilities *abilities)
{
	memset(attr, 0, sizeof(*attr));
	attr->size = ATTR_SIZE;
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_DUMMY;
	attr->disabled = 1;
	attr->exclude_kernel = !abilities->kernel;
	attr->exclude_hv = !abilities->kernel;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	attr->sample_id_all = 1;
	/* IDENTIFIER is first in samples and last in other records, so that readers find the event
	 * for any sample type. IP is also set for the sideband event, which has no samples: before
	 * it prints symbols, perf 5.10 checks the first event of each type for it. */
	attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			    PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	attr->read_format = PERF_FORMAT_ID;
	if (abilities->lost)
		attr->read_format |= JP_PERF_FORMAT_LOST;
}

/* Sets bits of the flag word, which follows read_format, by number: the installed header may lack
 * their names. */
static void set_flags(struct perf_event_attr *attr, uint64_t bits)
{
	unsigned char *pos = (unsigned char *)&attr->read_format + sizeof(attr->read_format);
	uint64_t flags;

	memcpy(&flags, pos, sizeof(flags));
	flags |= bits;
	memcpy(pos, &flags, sizeof(flags));
}

static void set_sample_contents(struct perf_event_attr *attr,
				const struct jp_capture_options *options,
				const struct jp_abilities *abilities)
{
	attr->sample_type |= PERF_SAMPLE_PERIOD | PERF_SAMPLE_REGS_USER;
	attr->sample_regs_user = jp_registers_user;
	if (options->chain) {
		attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
		attr->sample_max_stack = options->max_stack;
	}
	if (options->chain && options->deferred)
		set_flags(attr, JP_PERF_ATTR_DEFER_CALLCHAIN | JP_PERF_ATTR_DEFER_OUTPUT);
	attr->exclude_callchain_kernel = options->chain && !abilities->kernel;
	if (options->stack) {
		attr->sample_type |= PERF_SAMPLE_STACK_USER;
		attr->sample_stack_user = options->stack;
	}
}

void jp_attr_sampling(struct perf_event_attr *attr, const struct jp_capture_options *options,
		      const struct jp_abilities *abilities, uint32_t frequency)
{
	init_common_attr(attr, abilities);
	attr->config = options->task_clock ? PERF_COUNT_SW_TASK_CLOCK : PERF_COUNT_SW_CPU_CLOCK;
	attr->freq = 1;
	attr->sample_freq = frequency;
	attr->inherit = !options->system_wide;
	set_sample_contents(attr, options, abilities);
}

/* Returns the sample_regs_user mask of the stack pointer and the instruction pointer, which
 * jp_machine_user() needs. */
static uint64_t place_registers(void)
{
	const struct jp_machine *machine = jp_machine_find(jp_get_own_machine());
	uint64_t mask = 0;

	for (unsigned int bit = 0; bit < machine->nr_registers; bit++)
		if (machine->registers[bit].number == machine->ip ||
		    machine->registers[bit].number == machine->sp)
			mask |= UINT64_C(1) << bit;
	return mask;
}

void jp_attr_witness(struct perf_event_attr *attr, const struct jp_capture_options *options,
		     const struct jp_abilities *abilities)
{
	init_common_attr(attr, abilities);
	attr->config = options->task_clock ? PERF_COUNT_SW_TASK_CLOCK : PERF_COUNT_SW_CPU_CLOCK;
	attr->sample_type |= PERF_SAMPLE_PERIOD | PERF_SAMPLE_REGS_USER;
	attr->sample_regs_user = place_registers();
	attr->sample_period = jp_witness_period(JP_NS_PER_S / jp_capture_frequency(options));
	attr->inherit = 1;
	attr->watermark = 1;
	attr->wakeup_watermark = WITNESS_WAKE;
}

void jp_attr_sideband(struct perf_event_attr *attr, const struct jp_capture_options *options,
		      const struct jp_abilities *abilities)
{
	init_common_attr(attr, abilities);
	attr->mmap = 1;
	attr->mmap2 = 1;
	attr->mmap_data = options->all_maps;
	attr->comm = 1;
	attr->comm_exec = 1;
	attr->task = 1;
	attr->inherit = !options->system_wide;
}

void jp_attr_breakpoint(struct perf_event_attr *attr, const struct jp_capture_options *options,
			const struct jp_abilities *abilities, uint64_t addr)
{
	init_common_attr(attr, abilities);
	attr->type = PERF_TYPE_BREAKPOINT;
	attr->config = 0;
	/* The kernel's own code is not of interest, and breakpoints there need privileges. */
	attr->exclude_kernel = 1;
	attr->exclude_hv = 1;
	attr->bp_type = HW_BREAKPOINT_X;
	attr->bp_addr = addr;
	attr->bp_len = sizeof(long); /* x86 demands this size for execution breakpoints */
	attr->sample_period = 1;
	attr->wakeup_events = 1;
	set_sample_contents(attr, options, abilities);
	attr->exclude_callchain_kernel = options->chain;
}

void jp_attr_ring(struct perf_event_attr *attr)
{
	const struct jp_abilities none = {0};

	init_common_attr(attr, &none);
}

void jp_attr_layout(const struct perf_event_attr *attr, struct jp_perf_layout *layout)
{
	struct jp_perf_attr same = {0};

	memcpy(&same, attr, attr->size < sizeof(same) ? attr->size : sizeof(same));
	jp_perf_compute_layout(&same, jp_get_own_machine(), layout);
}

static int try_open(struct perf_event_attr *attr, const struct jp_capture_options *options)
{
	int fd = jp_perf_open(attr, options->system_wide ? -1 : 0, options->system_wide ? 0 : -1);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

int jp_abilities_try(const struct jp_capture_options *options, struct jp_abilities *abilities)
{
	struct perf_event_attr attr;
	int ret;

	/* Try the simplest event first, so that an ability only fails for its own reason. */
	*abilities = (struct jp_abilities){0};
	jp_attr_sampling(&attr, options, abilities, 1);
	ret = try_open(&attr, options);
	if (ret)
		return ret;
	abilities->lost = true;
	jp_attr_sampling(&attr, options, abilities, 1);
	abilities->lost = try_open(&attr, options) == 0;
	if (options->kernel) {
		abilities->kernel = true;
		jp_attr_sampling(&attr, options, abilities, 1);
		abilities->kernel = try_open(&attr, options) == 0;
	}
	jp_attr_sideband(&attr, options, abilities);
	return try_open(&attr, options);
}

long jp_sysctl_read(const char *name, long otherwise)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	return jp_file_number(path, otherwise);
}

void jp_perf_explain_error(int error, char *text, size_t size)
{
	const char *name = strerrorname_np(error);
	long paranoid = jp_sysctl_read("perf_event_paranoid", -100);

	if (error == ENOSYS)
		snprintf(text, size, "ENOSYS (not in this kernel, or denied by seccomp)");
	else if ((error == EACCES || error == EPERM) && paranoid != -100)
		snprintf(text, size, "%s (kernel.perf_event_paranoid=%ld%s)", name, paranoid,
			 paranoid <= 2 ? ", or denied by seccomp or a security module" : "");
	else if (error == EACCES || error == EPERM)
		snprintf(text, size, "%s (kernel.perf_event_paranoid cannot be read)", name);
	else
		snprintf(text, size, "%s (%s)", name ? name : "?", strerror(error));
}
