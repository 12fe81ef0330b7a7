// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/options.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "harness/base/clock.h"
#include "harness/base/number.h"
#include "harness/base/order.h"
#include "harness/base/file.h"
#include "harness/format/rundir/watched.h"

/*
 * The kernel throttles an event that reaches DIV_ROUND_UP(kernel.perf_event_max_sample_rate, HZ)
 * samples in a tick (__perf_event_account_interrupt()). A tick may contain one sample more than its
 * share of the frequency.
 */
static uint32_t get_highest_frequency(void)
{
	const uint64_t rate = (uint64_t)jp_max(
		jp_file_number("/proc/sys/kernel/perf_event_max_sample_rate", 100000), 1);
	struct timespec tick = {0};
	uint64_t per_tick, ns;

	/* The resolution of the coarse clock is one tick of the kernel's timer. */
	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	ns = jp_max((uint64_t)tick.tv_nsec, 1);
	per_tick = (jp_min(rate, UINT32_MAX) * ns + JP_NS_PER_S - 1) / JP_NS_PER_S;
	return (uint32_t)jp_max((jp_max(per_tick, 1) - 1) * JP_NS_PER_S / ns, 2) - 1;
}

struct jp_capture_options jp_capture_defaults(void)
{
	return (struct jp_capture_options){
		.synth = JP_SYNTH_EXEC,
		.chain = true,
		.frequency =
			997, /* a prime, so that it is not in step with timers of the workload */
		.limit = get_highest_frequency(),
		.kernel = true,
	};
}

uint32_t jp_capture_frequency(const struct jp_capture_options *options)
{
	return jp_min(options->frequency, options->limit);
}

void jp_capture_leave_witness(struct jp_capture_options *options)
{
	const uint64_t min = JP_NS_PER_S / options->limit;
	uint32_t frequency = options->limit / 2;

	while (frequency > 1 && jp_witness_period(JP_NS_PER_S / frequency) < min)
		frequency--;
	options->limit = jp_max(frequency, 1);
}

static int parse_synth(const struct jp_option *option, const char *text, struct jp_error *err)
{
	struct jp_capture_options *options = option->context;

	for (int i = 0; i <= JP_SYNTH_ALL; i++) {
		if (strcmp(text, jp_synth_text((enum jp_synth)i)) != 0)
			continue;
		options->synth = (enum jp_synth)i;
		/* Records of earlier data mappings are useless without those of later data
		 * mappings. */
		options->all_maps |= i == JP_SYNTH_ALL;
		return 0;
	}
	return jp_fail(err, EINVAL, "--synth=%s: expected none, paths, exec or all", text);
}

static int parse_stack(const struct jp_option *option, const char *text, struct jp_error *err)
{
	struct jp_capture_options *options = option->context;
	uint64_t stack;

	if (!jp_number(text, 0, 65528, &stack) || stack % 8)
		return jp_fail(err, EINVAL, "--stack=%s: expected a multiple of 8, up to 65528",
			       text);
	options->stack = (uint32_t)stack;
	return 0;
}

const struct jp_option *jp_capture_rows(void *context)
{
	static const char *const callchains[] = {"sample", "deferred", NULL};
	static const char *const late_words[] = {"late", NULL};
	struct jp_capture_options *options = context;
	static struct jp_option rows[14];
	const struct jp_option all_rows[] = {
		{"--system-wide", "-a", .set = &options->system_wide,
		 .help = "watch all processes; with COMMAND, only while it runs"},
		{"--freq", "-F", "HZ", .number = &options->frequency, .min = 1, .max = 1000000,
		 .help = "samples per second and thread (default: 997)"},
		{"--stack", NULL, "N", .parse = parse_stack, .context = options,
		 .help = "bytes of user stack with each sample (default: 0)"},
		{"--no-chain", .clear = &options->chain, .help = "do not record callchains"},
		{"--callchain", .set = &options->deferred, .words = callchains,
		 .help = "when the kernel walks the user part of callchains: sample (default): at "
			 "once; deferred: when the thread returns to user space (since Linux "
			 "6.19)"},
		{"--synth", NULL, "WHAT", .parse = parse_synth, .context = options,
		 .help = "which mappings older than the capture to record: none, paths, exec "
			 "(default), all"},
		{"--task-clock", .set = &options->task_clock,
		 .help = "sample task-clock instead of cpu-clock"},
		{"--user-only", .clear = &options->kernel, .help = "do not sample the kernel"},
		{"--kernel", .set = &options->need_kernel,
		 .help = "fail if the kernel may not be sampled (default: leave it out)"},
		{"--all-maps", .set = &options->all_maps,
		 .help = "record mappings of data, too, as --stack does"},
		{"--ring", NULL, "BYTES", .number64 = &options->ring, .max = 1 << 30,
		 .help = "size of each CPU's ring buffer of samples"},
		{"--sideband-ring", NULL, "BYTES", .number64 = &options->sideband_ring,
		 .max = 1 << 30,
		 .help = "size of each CPU's ring buffer of mappings, processes and names"},
		{"--elf", .set = &options->late_elf, .words = late_words},
		{0}};

	return memcpy(rows, all_rows, sizeof(all_rows));
}

int jp_capture_option(struct jp_capture_options *options, const char *arg, struct jp_error *err)
{
	return jp_option_take(jp_capture_rows(options), arg, err);
}
