// SPDX-License-Identifier: GPL-2.0-only
/* Modes: a sample's mode, address, user registers and callchain must agree about where the CPU was.
 * The rules follow from the kernel: perf_misc_flags() and perf_instruction_pointer() take mode and
 * address from the same registers; perf_sample_regs_user() (kernel/events/core.c) takes those with
 * which the thread entered the kernel; perf_callchain_kernel() and perf_callchain_user()
 * (arch/x86/events/core.c) begin with them. */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "harness/judge/validator.h"
#include "validators/sample_class.h"

struct modes {
	struct jp_view *view;
	const struct jp_event_asked *checked[2]; /* last attributes checked: [0] of other records,
						    [1] of samples */
	uint64_t samples, nr_user, nr_kernel, nr_bad, nr_ended;
	struct jp_map ended;  /* threads with an EXIT record */
	uint64_t max_samples; /* number of samples that is_wanted() permits */
	uint32_t unwanted;    /* attr of the last record that was no sample */
};

/* Returns whether @address is in the kernel's half of the address space, on all known machines. */
static bool is_kernel_address(uint64_t address)
{
	return address >> 63;
}

/* Returns whether @address can be kernel code. On x86-64, kernel code lies above the start of the
 * EFI area (Documentation/arch/x86/x86_64/mm.rst); on other machines only the upper half of the
 * address space is known. */
static bool is_kernel_code(const struct modes *modes, uint64_t address)
{
	const uint64_t firmware = UINT64_C(0xffffffef00000000);

	return is_kernel_address(address) &&
	       (modes->view->machine->e_machine != EM_X86_64 || address >= firmware);
}

/* Returns the cause id if mode and address contradict each other, else NULL. */
static const char *check_mode(const struct modes *modes, const struct jp_event *event)
{
	const struct jp_event_asked *requested = event->asked;
	const uint64_t ip = event->sample.ip;

	switch (jp_event_cpu_mode(event)) {
	case JP_CPU_USER:
		/* The only user code at kernel addresses is the vsyscall page, which our workloads
		 * do not call. */
		return is_kernel_address(ip)           ? "kernel-address"
		       : requested && !requested->user ? "not-asked"
						       : NULL;
	case JP_CPU_KERNEL:
		return !is_kernel_code(modes, ip)        ? "user-address"
		       : requested && !requested->kernel ? "not-asked"
							 : NULL;
	default:
		/* No capture samples guests. */
		return "other-mode";
	}
}

/* Returns whether the sampled thread may be within an exec from a 64-bit program to a 32-bit
 * program: until the exec replaces the registers, they are those of the 64-bit program. */
static bool is_within_exec(const struct modes *modes, const struct jp_event *event)
{
	return event->sample.regs && !event->sample.user &&
	       jp_machine_compat(event->sample.regs->machine) == modes->view->machine;
}

/* Returns the cause id if the user registers are wrong, else NULL. Stores their address in *@ip. */
static const char *check_registers(const struct modes *modes, const struct jp_event *event,
				   uint64_t *ip)
{
	uint64_t sp;

	if (!event->asked || !event->asked->regs)
		return NULL;
	if (!jp_machine_user(modes->view->machine, event, ip, &sp)) {
		if (is_within_exec(modes, event) || jp_ended_threads_have(&modes->ended, event))
			return NULL;
		if (event->sample.regs_abi != 1)
			return "no-registers";
		/* The workload is not a 32-bit program; captures of all CPUs also contain other
		 * processes. */
		return jp_sample_is_watched(modes->view->evidence, event->pid, UINT64_MAX)
			       ? "32-bit"
			       : NULL;
	}
	if (is_kernel_address(*ip) || is_kernel_address(sp) || event->sample.regs_impossible)
		return "kernel-registers";
	/* Clocks do not skid: both addresses come from the interrupted registers. */
	return event->sample.user && *ip != event->sample.ip ? "other-ip" : NULL;
}

/* Returns whether the part of a callchain that begins at @chain has kernel addresses only. */
static bool has_kernel_code_only(const struct modes *modes, const uint64_t *chain, uint64_t count)
{
	for (uint64_t i = 0; i < count && chain[i] < JP_CONTEXT_MAX; i++)
		if (!is_kernel_code(modes, chain[i]))
			return false;
	return true;
}

/* Returns whether the kernel's part of the chain, if there is one, comes first, and then the user's
 * part or a marker for it (get_perf_callchain()). Garbage on the stack may end the user's part
 * early, so only its largest length is known. */
static bool has_parts_in_order(const struct jp_event *event)
{
	const uint64_t *chain = event->sample.chain, count = event->sample.nr_chain;
	const uint64_t kernel = count && chain[0] == JP_CONTEXT_KERNEL;
	uint64_t user = kernel;

	while (user < count && chain[user] < JP_CONTEXT_MAX)
		user++;
	if (user == count)
		return true;
	return (chain[user] == JP_CONTEXT_USER || chain[user] == JP_CONTEXT_USER_DEFERRED) &&
	       (!event->asked->max_stack || event->sample.chain_deferred ||
		count - kernel - 1 <= event->asked->max_stack);
}

/* Returns the cause id if the callchain is wrong, else NULL. The kernel's and the user's part each
 * begin with the address in the registers. A deferred chain need not: before the return to user
 * space, a signal may change the registers. */
static const char *check_chain(const struct modes *modes, const struct jp_event *event,
			       uint64_t user_ip)
{
	const uint64_t *chain = event->sample.chain, *user;
	const uint64_t count = event->sample.nr_chain;
	bool has_kernel = count > 1 && chain[0] == JP_CONTEXT_KERNEL;

	if (!event->asked || !chain || !count)
		return NULL;
	if (event->sample.user ? has_kernel : event->asked->kernel_chain != has_kernel)
		return "other-part";
	if (!has_parts_in_order(event))
		return "other-part";
	if (has_kernel &&
	    (chain[1] != event->sample.ip || !has_kernel_code_only(modes, chain + 1, count - 1)))
		return "other-kernel-chain";
	if (!event->asked->user_chain || event->sample.chain_deferred || !user_ip ||
	    !jp_event_user_chain(event, &user))
		return NULL;
	return user[0] != user_ip ? "other-chain" : NULL;
}

/* Returns whether samples of @clock are permitted: breakpoints if the capture declares any, else
 * the clock that the runner requested. Other profilers may use a hardware event. */
static bool is_wanted(const struct modes *modes, enum jp_clock clock)
{
	const struct jp_watched_info *watched = &modes->view->evidence->watched;
	const struct jp_capture_info *info = &modes->view->evidence->info;

	if (info->breakpoints || clock == JP_CLOCK_BREAKPOINT)
		return info->breakpoints && clock == JP_CLOCK_BREAKPOINT;
	if (!watched->cpus || (clock == JP_CLOCK_NONE && !info->event[0]))
		return true;
	return clock == (watched->task_clock ? JP_CLOCK_TASK : JP_CLOCK_CPU);
}

/* Returns whether the event's period contradicts the frequency that the capture states. */
static bool contradicts_stated_frequency(const struct jp_capture_info *info,
					 const struct jp_event_asked *requested)
{
	return (requested->clock == JP_CLOCK_CPU || requested->clock == JP_CLOCK_TASK) &&
	       requested->period && info->frequency &&
	       requested->period != UINT64_C(1000000000) / info->frequency;
}

static const char UNWANTED_CLOCK[] = "the clock, or the breakpoints, that the runner wanted";

/* Returns a description of data that the case needs and the event does not request, or NULL. Other
 * rules check only the data that records have, so they do not notice this. */
static const char *find_unrequested_data(const struct modes *modes, const struct jp_event *event)
{
	const struct jp_watched_info *watched = &modes->view->evidence->watched;
	const struct jp_event_asked *requested = event->asked;
	const bool chain = modes->view->asked->methods >> JP_CHAIN & 1;

	if (!requested->timed)
		return "times by CLOCK_MONOTONIC in all its records";
	if (!requested->threads)
		return "the thread in all its records";
	if (event->type != JP_EVENT_SAMPLE)
		return NULL;
	if (!requested->user_chain && (chain || watched->chain))
		return "callchains with the user's part";
	if (requested->stack != modes->view->evidence->info.stack_dump)
		return "the stack dump that the capture states";
	if (!requested->regs)
		return "user registers";
	if (modes->view->evidence->info.event[0] && !is_wanted(modes, requested->clock))
		return UNWANTED_CLOCK;
	if (contradicts_stated_frequency(&modes->view->evidence->info, requested))
		return "the frequency that the capture states";
	return watched->user_only && requested->kernel ? "user space alone" : NULL;
}

/* Makes the case an ERROR because the event @attr does not request @data. */
static void report_unrequested_data(struct modes *modes, uint32_t attr, const char *data)
{
	struct jp_findings *findings = &modes->view->findings;

	if (!*findings->error)
		snprintf(findings->error, sizeof(findings->error),
			 "event %" PRIu32 " of perf.data was not asked for %s", attr, data);
}

/* Makes the case an ERROR if the event does not request data that the case needs. */
static void check_attributes(struct modes *modes, const struct jp_event *event)
{
	const char *missing;

	if (event->asked == modes->checked[event->type == JP_EVENT_SAMPLE])
		return;
	modes->checked[event->type == JP_EVENT_SAMPLE] = event->asked;
	missing = event->asked ? find_unrequested_data(modes, event) : NULL;
	if (missing)
		report_unrequested_data(modes, event->attr, missing);
}

/* Counts the samples of the wanted clock. Other profilers may also sample further events. */
static void count_wanted_sample(struct modes *modes, const struct jp_event *event)
{
	if (!event->asked || is_wanted(modes, event->asked->clock))
		modes->max_samples++;
	else
		modes->unwanted = event->attr;
}

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	struct modes *modes = view->state;
	const char *cause;
	uint64_t ip = 0;

	check_attributes(modes, event);
	if (event->type != JP_EVENT_SAMPLE)
		return jp_ended_threads_note(&modes->ended, event);
	modes->samples++;
	count_wanted_sample(modes, event);
	modes->nr_user += event->sample.user;
	modes->nr_kernel += jp_event_cpu_mode(event) == JP_CPU_KERNEL;
	modes->nr_ended += jp_ended_threads_have(&modes->ended, event) &&
			   jp_sample_is_watched(modes->view->evidence, event->pid, UINT64_MAX);
	cause = check_mode(modes, event);
	/* Kernel threads, and the idle thread 0, have no user registers. */
	if (!cause && (event->sample.user ||
		       jp_sample_is_watched(modes->view->evidence, event->pid, UINT64_MAX)))
		cause = check_registers(modes, event, &ip);
	if (!cause)
		cause = check_chain(modes, event, ip);
	if (!cause && event->asked && event->asked->period &&
	    event->sample.period != event->asked->period)
		cause = "other-period";
	if (!cause && modes->view->evidence->watched.cpus &&
	    event->cpu >= modes->view->evidence->watched.cpus)
		cause = "no-such-cpu";
	if (!cause)
		return 0;
	modes->nr_bad++;
	return jp_findings_count_failure(
		&view->findings, "modes.bad", cause,
		"at %" PRIu64 ", %u/%u: mode %d, ip %" PRIx64 ", registers of abi %" PRIu64
		" with ip %" PRIx64 ", a chain of %" PRIu64 ", period %" PRIu64,
		event->time, event->pid, event->tid, jp_event_cpu_mode(event), event->sample.ip,
		event->sample.regs_abi, ip, event->sample.nr_chain, event->sample.period);
}

static int end(struct jp_view *view, struct jp_error *err)
{
	struct modes *modes = view->state;
	struct jp_findings *findings = &view->findings;

	if (modes->samples && !modes->max_samples)
		report_unrequested_data(modes, modes->unwanted, UNWANTED_CLOCK);
	jp_findings_add_rate(findings, "modes.user", modes->nr_user, modes->samples);
	jp_findings_add_rate(findings, "modes.kernel", modes->nr_kernel, modes->samples);
	jp_findings_add_rate(findings, "modes.bad", modes->nr_bad, modes->samples);
	jp_findings_add_count(findings, "modes.ended", modes->nr_ended);
	return 0;
}

static void free_modes(void *context)
{
	struct modes *modes = context;

	jp_map_free(&modes->ended);
}

JP_DEFINE(validator, modes) = {
	.name = "modes",
	.state_size = sizeof(struct modes),
	.handle = handle_event,
	.end = end,
	.free = free_modes,
};
