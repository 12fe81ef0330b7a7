// SPDX-License-Identifier: GPL-2.0-only
/* Facts about sizes and limits of perf_event_open() attributes. */
#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "harness/capture/probe.h"
#include "harness/facts/trial.h"

/* Larger than the attribute of any kernel. */
enum { LARGEST_ATTR = 4096 };

static void probe_size(struct jp_answer *answer)
{
	union {
		unsigned char bytes[LARGEST_ATTR];
		struct perf_event_attr attr;
	} large = {.bytes = {0}};
	long fd;

	if (!jp_trial_is_allowed(answer))
		return;
	large.attr = jp_trial_make_dummy_attr();
	large.attr.size = sizeof(large);
	large.bytes[sizeof(large) - 1] = 1;
	fd = syscall(SYS_perf_event_open, &large, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0)
		jp_answer_missing(answer, "E2BIG of an attr of %d bytes", LARGEST_ATTR);
	else if (errno != E2BIG)
		jp_answer_missing(answer, "E2BIG: the error was %s", jp_answer_errno(errno));
	else
		jp_answer_number(answer, large.attr.size);
}

static void try_clocks(struct jp_answer *answer)
{
	static const struct {
		clockid_t clock;
		const char *name;
	} tried[] = {
		{CLOCK_MONOTONIC, "monotonic"},
		{CLOCK_MONOTONIC_RAW, "monotonic_raw"},
		{CLOCK_REALTIME, "realtime"},
		{CLOCK_BOOTTIME, "boottime"},
		{CLOCK_TAI, "tai"},
		{CLOCK_MONOTONIC_COARSE, "monotonic_coarse"},
	};

	if (!jp_trial_is_allowed(answer))
		return;
	jp_answer_list(answer);
	for (size_t i = 0; i < sizeof(tried) / sizeof(tried[0]); i++) {
		struct perf_event_attr attr = jp_trial_make_dummy_attr();

		attr.clockid = tried[i].clock;
		jp_answer_text(answer, "%s %s", tried[i].name,
			       jp_answer_errno(jp_trial_open(&attr)));
	}
}

static void try_stack_sizes(struct jp_answer *answer)
{
	static const uint32_t nr_tried[] = {8, 12, 8192, 65528, 65532, 65536};

	if (!jp_trial_is_allowed(answer))
		return;
	jp_answer_list(answer);
	for (size_t i = 0; i < sizeof(nr_tried) / sizeof(nr_tried[0]); i++) {
		struct perf_event_attr attr = jp_trial_make_dummy_attr();

		attr.sample_type |= PERF_SAMPLE_STACK_USER;
		attr.sample_stack_user = nr_tried[i];
		jp_answer_text(answer, "%u %s", nr_tried[i], jp_answer_errno(jp_trial_open(&attr)));
	}
}

static void try_max_stacks(struct jp_answer *answer)
{
	long limit = jp_sysctl_read("perf_event_max_stack", -1);

	if (!jp_trial_is_allowed(answer))
		return;
	if (limit < 0)
		jp_answer_missing(answer, "kernel.perf_event_max_stack");
	jp_answer_list(answer);
	for (long excess = 0; excess < 2; excess++) {
		struct perf_event_attr attr = jp_trial_make_dummy_attr();

		attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
		attr.sample_max_stack = (uint16_t)(limit + excess);
		jp_answer_text(answer, "%s %s", excess ? "one more" : "the sysctl's",
			       jp_answer_errno(jp_trial_open(&attr)));
	}
}

static void map_ring_of_any_cpu(struct jp_answer *answer)
{
	struct perf_event_attr attr = jp_watch_sideband();
	struct jp_answer mapped = {0};
	struct jp_watch watch;

	/* First check that the event of jp_watch_open(), which is of one CPU, can be mapped. Then
	 * try an event of all CPUs, which cannot. */
	if (!jp_watch_open(&watch, &attr, 1, answer))
		return;
	jp_watch_close(&watch);
	watch.fd = jp_perf_open(&attr, 0, -1);
	if (watch.fd < 0) {
		jp_answer_missing(answer, "perf_event_open: %s", jp_answer_errno(-watch.fd));
		return;
	}
	jp_answer_text(answer, "%s", jp_watch_map(&watch, 1, &mapped) ? "ok" : mapped.missing);
}

static void compare_counts(struct jp_answer *answer)
{
	if (!jp_trial_is_allowed(answer))
		return;
	jp_answer_list(answer);
	jp_answer_text(answer, "cpu-clock %s",
		       jp_probe_counts(PERF_COUNT_SW_CPU_CLOCK) ? "counts" : "does not");
	jp_answer_text(answer, "task-clock %s",
		       jp_probe_counts(PERF_COUNT_SW_TASK_CLOCK) ? "counts" : "does not");
}

static const struct jp_fact facts[] = {
	{"attr.size",
	 "Passes an attr longer than the kernel's, not zero at its end; the kernel's own size, "
	 "which it returns with E2BIG.",
	 .probe = probe_size},
	{"attr.clockid", "Opens an event with use_clockid for each clock; ok or the error.",
	 .probe = try_clocks},
	{"attr.clock.counts",
	 "Enables cpu-clock and task-clock for a millisecond each; whether a read then returns "
	 "more than 0.",
	 .probe = compare_counts},
	{"attr.sample_stack_user",
	 "Requests stack dumps of several sizes in bytes; ok or the error.",
	 .probe = try_stack_sizes},
	{"attr.sample_max_stack",
	 "Requests chains of kernel.perf_event_max_stack addresses, then of one more; ok or the "
	 "error.",
	 .probe = try_max_stacks},
	{"attr.inherit.ring_without_cpu",
	 "Maps the ring of an event with attr.inherit that is not bound to a CPU; ok or the "
	 "error.",
	 .probe = map_ring_of_any_cpu},
};
JP_REGISTER_ROWS(fact, facts);
