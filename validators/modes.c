// SPDX-License-Identifier: GPL-2.0-only
/*
 * Modes: a sample's mode, address, user registers and callchain must agree about where the CPU was.
 * The rules are the kernel's: perf_misc_flags() and perf_instruction_pointer() take mode and
 * address from the same registers; perf_sample_regs_user() (kernel/events/core.c) takes those with
 * which the thread entered the kernel; perf_callchain_kernel() and perf_callchain_user()
 * (arch/x86/events/core.c) begin with them.
 */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/base/search.h"
#include "harness/judge/validator.h"
#include "validators/sample_class.h"

struct modes {
	const struct jp_evidence *evidence;
	struct jp_view *view;
	const struct jp_event_asked
		*checked[2]; /* the last checked, of other records and of samples */
	uint64_t samples, user, kernel, bad;
};

/* Returns whether @address is in the kernel's half of the address space, on all known machines. */
static bool kernels(uint64_t address)
{
	return address >> 63;
}

/* Returns whether @address can be kernel code: on x86-64 its text and modules are in the last two
 * GiB, firmware above (Documentation/arch/x86/x86_64/mm.rst); elsewhere only the half is known. */
static bool kernel_code(const struct modes *modes, uint64_t address)
{
	const uint64_t firmware = UINT64_C(0xffffffef00000000);

	return kernels(address) &&
	       (modes->view->machine->e_machine != EM_X86_64 || address >= firmware);
}

static bool in_truth(const struct jp_truth *truth, uint32_t pid)
{
	size_t at;

	jp_search(at, truth->nr_incarnations, truth->incarnations[at].pid < pid);
	return at < truth->nr_incarnations && truth->incarnations[at].pid == pid;
}

/* Returns the contradiction between mode and address, or NULL. */
static const char *bad_mode(const struct modes *modes, const struct jp_event *event)
{
	const struct jp_event_asked *asked = event->asked;
	const uint64_t ip = event->sample.ip;

	switch (jp_event_cpu_mode(event)) {
	case JP_CPU_USER:
		/* vsyscall's page is the only user code there, and our workloads do not call it. */
		return kernels(ip) ? "kernel-address" : asked && !asked->user ? "not-asked" : NULL;
	case JP_CPU_KERNEL:
		return !kernel_code(modes, ip)   ? "user-address"
		       : asked && !asked->kernel ? "not-asked"
						 : NULL;
	default:
		/* No guest runs here, and no hypervisor samples. */
		return "other-mode";
	}
}

/* Returns the contradiction in the user registers, or NULL. *@ip: their address. */
static const char *bad_registers(const struct modes *modes, const struct jp_event *event,
				 uint64_t *ip)
{
	uint64_t sp;

	if (!event->asked || !event->asked->regs)
		return NULL;
	if (!jp_machine_user(modes->view->machine, event, ip, &sp)) {
		if (event->sample.regs_abi != 1)
			return "no-registers";
		/* Our workloads have 64 bits; a capture of all CPUs also samples other
		 * processes. */
		return jp_sample_watched(modes->view->evidence, event->pid, UINT64_MAX) ? "32-bit"
											: NULL;
	}
	if (kernels(*ip) || kernels(sp) || event->sample.regs_impossible)
		return "kernel-registers";
	/* Samples of a clock do not skid: both addresses come from the interrupted registers. */
	return event->sample.user && *ip != event->sample.ip ? "other-ip" : NULL;
}

/* Returns whether the part of a callchain that begins at @chain has kernel addresses only. */
static bool all_kernels(const struct modes *modes, const uint64_t *chain, uint64_t count)
{
	for (uint64_t i = 0; i < count && chain[i] < JP_CONTEXT_MAX; i++)
		if (!kernel_code(modes, chain[i]))
			return false;
	return true;
}

/* Checks the order of parts: get_perf_callchain() writes the kernel's part, if any, then the
 * user's, or a marker for it. Garbage on the stack may end the user's part, so only its maximal
 * length is known. */
static bool is_in_parts(const struct jp_event *event)
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

/* Returns the contradiction in the callchain, or NULL: each part begins at its registers' address.
 * A deferred chain is walked on the way back to user space, where a signal may have changed the
 * registers. */
static const char *bad_chain(const struct modes *modes, const struct jp_event *event,
			     uint64_t user_ip)
{
	const uint64_t *chain = event->sample.chain, *user;
	const uint64_t count = event->sample.nr_chain;
	bool has_kernel = count > 1 && chain[0] == JP_CONTEXT_KERNEL;

	if (!event->asked || !chain || !count)
		return NULL;
	if (event->sample.user ? has_kernel : event->asked->kernel_chain != has_kernel)
		return "other-part";
	if (!is_in_parts(event))
		return "other-part";
	if (has_kernel &&
	    (chain[1] != event->sample.ip || !all_kernels(modes, chain + 1, count - 1)))
		return "other-kernel-chain";
	if (!event->asked->user_chain || event->sample.chain_deferred || !user_ip ||
	    !jp_event_user_chain(event, &user))
		return NULL;
	return user[0] != user_ip ? "other-chain" : NULL;
}

/* Returns whether @clock is the event that must sample: breakpoints if the capture states any, else
 * the clock that the runner requested. Other profilers may use a hardware event instead. */
static bool is_wanted(const struct modes *modes, enum jp_clock clock)
{
	const struct jp_watched_info *watched = &modes->evidence->watched;
	const struct jp_capture_info *info = &modes->evidence->info;

	if (info->breakpoints || clock == JP_CLOCK_BREAKPOINT)
		return info->breakpoints && clock == JP_CLOCK_BREAKPOINT;
	if (!watched->cpus || (clock == JP_CLOCK_NONE && !info->event[0]))
		return true;
	return clock == (watched->task_clock ? JP_CLOCK_TASK : JP_CLOCK_CPU);
}

/* Returns whether the event's period contradicts the frequency that our capture states. */
static bool is_other_period(const struct jp_capture_info *info, const struct jp_event_asked *asked)
{
	return (asked->clock == JP_CLOCK_CPU || asked->clock == JP_CLOCK_TASK) && asked->period &&
	       info->frequency && asked->period != UINT64_C(1000000000) / info->frequency;
}

/* Returns the requested data that an event did not ask for, or NULL: data that no record holds
 * breaks no rule. */
static const char *not_asked(const struct modes *modes, const struct jp_event *event)
{
	const struct jp_watched_info *watched = &modes->evidence->watched;
	const struct jp_event_asked *asked = event->asked;
	const bool chain = modes->view->asked->methods >> JP_CHAIN & 1;

	if (!asked->timed)
		return "times by CLOCK_MONOTONIC in all its records";
	if (!asked->threads)
		return "the thread in all its records";
	if (event->type != JP_EVENT_SAMPLE)
		return NULL;
	if (!asked->user_chain && (chain || watched->chain))
		return "callchains with the user's part";
	if (asked->stack != modes->evidence->info.stack_dump)
		return "the stack dump that the capture states";
	if (!asked->regs)
		return "user registers";
	if (!is_wanted(modes, asked->clock))
		return "the clock, or the breakpoints, that the runner wanted";
	if (is_other_period(&modes->evidence->info, asked))
		return "the frequency that the capture states";
	return watched->user_only && asked->kernel ? "user space alone" : NULL;
}

static void check_asked(struct modes *modes, const struct jp_event *event)
{
	struct jp_findings *findings = &modes->view->findings;
	const char *what;

	if (event->asked == modes->checked[event->type == JP_EVENT_SAMPLE])
		return;
	modes->checked[event->type == JP_EVENT_SAMPLE] = event->asked;
	what = event->asked ? not_asked(modes, event) : NULL;
	if (what && !*findings->error)
		snprintf(findings->error, sizeof(findings->error),
			 "event %" PRIu32 " of perf.data was not asked for %s", event->attr, what);
}

static int see(struct jp_view *view, const struct jp_event *event)
{
	struct modes *modes = view->state;
	const char *cause;
	uint64_t ip = 0;

	check_asked(modes, event);
	if (event->type != JP_EVENT_SAMPLE)
		return 0;
	modes->samples++;
	modes->user += event->sample.user;
	modes->kernel += jp_event_cpu_mode(event) == JP_CPU_KERNEL;
	cause = bad_mode(modes, event);
	/* A kernel thread has neither user registers nor a user stack; the idle thread is 0. */
	if (!cause && (event->sample.user || in_truth(modes->evidence->truth, event->pid)))
		cause = bad_registers(modes, event, &ip);
	if (!cause)
		cause = bad_chain(modes, event, ip);
	if (!cause && event->asked && event->asked->period &&
	    event->sample.period != event->asked->period)
		cause = "other-period";
	if (!cause && modes->evidence->watched.cpus && event->cpu >= modes->evidence->watched.cpus)
		cause = "no-such-cpu";
	if (!cause)
		return 0;
	modes->bad++;
	return jp_findings_except(
		&view->findings, "modes.bad", cause,
		"at %" PRIu64 ", %u/%u: mode %d, ip %" PRIx64 ", registers of abi %" PRIu64
		" with ip %" PRIx64 ", a chain of %" PRIu64 ", period %" PRIu64,
		event->time, event->pid, event->tid, jp_event_cpu_mode(event), event->sample.ip,
		event->sample.regs_abi, ip, event->sample.nr_chain, event->sample.period);
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	struct modes *modes = view->state = calloc(1, sizeof(*modes));

	if (!modes)
		return -ENOMEM;
	modes->view = view;
	modes->evidence = view->evidence;
	return 0;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	const struct modes *modes = view->state;
	struct jp_findings *findings = &view->findings;

	jp_findings_add_rate(findings, "modes.user", modes->user, modes->samples);
	jp_findings_add_rate(findings, "modes.kernel", modes->kernel, modes->samples);
	jp_findings_add_rate(findings, "modes.bad", modes->bad, modes->samples);
	return 0;
}

static const struct jp_validator modes = {
	.name = "modes",
	.help = "do mode, address, registers and callchain of each sample tell one story?",
	.begin = begin,
	.see = see,
	.end = end,
	.free = free,
};
JP_REGISTER(validator, modes);
