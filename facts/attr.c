// SPDX-License-Identifier: GPL-2.0-only
/* What perf_event_open takes. Bits and sizes are tried, never looked up in a header. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "facts/watch.h"

/* Room for an attr of any kernel. */
enum { LARGEST_ATTR = 4096, FLAG_BITS = 64 };

static struct perf_event_attr dummy(void)
{
	struct perf_event_attr attr;

	jp_attr_ring(&attr);
	return attr;
}

/* 0, or the error. */
static int try_attr(struct perf_event_attr *attr)
{
	int fd = jp_perf_open(attr, 0, -1);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? -fd : 0;
}

/* Where the least of all events is denied, nothing can be said of any. */
static bool may_open(struct jp_answer *answer)
{
	struct perf_event_attr attr = dummy();
	int error = try_attr(&attr);
	char reason[128];

	if (!error)
		return true;
	jp_perf_reason(error, reason, sizeof(reason));
	jp_answer_missing(answer, "perf_event_open: %s", reason);
	return false;
}

static void attr_size(struct jp_answer *answer)
{
	union {
		unsigned char bytes[LARGEST_ATTR];
		struct perf_event_attr attr;
	} large = {.bytes = {0}};
	long fd;

	if (!may_open(answer))
		return;
	large.attr = dummy();
	large.attr.size = sizeof(large);
	large.bytes[sizeof(large) - 1] = 1;
	fd = syscall(SYS_perf_event_open, &large, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0)
		jp_answer_missing(answer, "E2BIG of an attr of %d bytes", LARGEST_ATTR);
	else if (errno != E2BIG)
		jp_answer_missing(answer, "E2BIG, which was %s", jp_answer_errno(errno));
	else
		jp_answer_number(answer, large.attr.size);
}

static const struct jp_fact fact_attr_size = {
	.name = "attr.size",
	.about = "An attr is longer than the kernel's and not zero there; the size that the E2BIG "
		 "answer tells.",
	.probe = attr_size,
};
JP_REGISTER(fact, fact_attr_size);

static void one_bit(struct jp_answer *answer, unsigned int bit)
{
	struct perf_event_attr attr = dummy();

	if (!may_open(answer))
		return;
	attr.size = PERF_ATTR_SIZE_VER7;
	jp_attr_set(&attr, bit);
	jp_answer_text(answer, "%s", jp_answer_errno(try_attr(&attr)));
}

static void bit_build_id(struct jp_answer *answer)
{
	one_bit(answer, JP_ATTR_BUILD_ID);
}

static const struct jp_fact attr_build_id = {
	.name = "attr.bit.build_id",
	.about = "A dummy event with attr.build_id alone.",
	.probe = bit_build_id,
};
JP_REGISTER(fact, attr_build_id);

static void bit_inherit_thread(struct jp_answer *answer)
{
	struct perf_event_attr attr = dummy();

	if (!may_open(answer))
		return;
	jp_attr_set(&attr, JP_ATTR_INHERIT);
	jp_attr_set(&attr, JP_ATTR_INHERIT_THREAD);
	jp_answer_text(answer, "%s", jp_answer_errno(try_attr(&attr)));
}

static const struct jp_fact attr_inherit_thread = {
	.name = "attr.bit.inherit_thread",
	.about = "A dummy event with attr.inherit and inherit_thread.",
	.probe = bit_inherit_thread,
};
JP_REGISTER(fact, attr_inherit_thread);

static void bit_remove_on_exec(struct jp_answer *answer)
{
	one_bit(answer, JP_ATTR_REMOVE_ON_EXEC);
}

static const struct jp_fact attr_remove_on_exec = {
	.name = "attr.bit.remove_on_exec",
	.about = "A dummy event with attr.remove_on_exec alone.",
	.probe = bit_remove_on_exec,
};
JP_REGISTER(fact, attr_remove_on_exec);

static void bit_sigtrap(struct jp_answer *answer)
{
	struct perf_event_attr attr = dummy();

	if (!may_open(answer))
		return;
	attr.size = PERF_ATTR_SIZE_VER7;
	jp_attr_set(&attr, JP_ATTR_REMOVE_ON_EXEC); /* demanded with it */
	jp_attr_set(&attr, JP_ATTR_SIGTRAP);
	jp_answer_text(answer, "%s", jp_answer_errno(try_attr(&attr)));
}

static const struct jp_fact attr_sigtrap = {
	.name = "attr.bit.sigtrap",
	.about = "A dummy event with attr.sigtrap and remove_on_exec.",
	.probe = bit_sigtrap,
};
JP_REGISTER(fact, attr_sigtrap);

static void bit_defer_callchain(struct jp_answer *answer)
{
	struct perf_event_attr attr = dummy();

	if (!may_open(answer))
		return;
	attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	jp_attr_set(&attr, JP_ATTR_DEFER_CALLCHAIN);
	jp_answer_text(answer, "%s", jp_answer_errno(try_attr(&attr)));
}

static const struct jp_fact attr_defer_callchain = {
	.name = "attr.bit.defer_callchain",
	.about = "A dummy event with callchains and attr.defer_callchain.",
	.probe = bit_defer_callchain,
};
JP_REGISTER(fact, attr_defer_callchain);

static void bit_defer_output(struct jp_answer *answer)
{
	one_bit(answer, JP_ATTR_DEFER_OUTPUT);
}

static const struct jp_fact attr_defer_output = {
	.name = "attr.bit.defer_output",
	.about = "A dummy event with attr.defer_output alone.",
	.probe = bit_defer_output,
};
JP_REGISTER(fact, attr_defer_output);

static void bit_inherit_read(struct jp_answer *answer)
{
	struct perf_event_attr attr = dummy();

	if (!may_open(answer))
		return;
	attr.sample_type |= PERF_SAMPLE_READ;
	jp_attr_set(&attr, JP_ATTR_INHERIT);
	jp_answer_text(answer, "%s", jp_answer_errno(try_attr(&attr)));
}

static const struct jp_fact attr_inherit_read = {
	.name = "attr.inherit_with_read",
	.about = "A dummy event with attr.inherit and PERF_SAMPLE_READ.",
	.probe = bit_inherit_read,
};
JP_REGISTER(fact, attr_inherit_read);

/* The first flag that no kernel version has given a meaning is told by the kernel alone: it demands
 * that reserved bits are zero. Bits that exist but want company fail with EINVAL, too: they are
 * below one that is taken. */
static void highest_flag(struct jp_answer *answer)
{
	int highest = -1;

	if (!may_open(answer))
		return;
	for (unsigned int bit = 0; bit < FLAG_BITS; bit++) {
		struct perf_event_attr attr = dummy();

		jp_attr_set(&attr, bit);
		if (!try_attr(&attr))
			highest = (int)bit;
	}
	if (highest < 0)
		jp_answer_missing(answer, "any flag of attr");
	else
		jp_answer_number(answer, (uint64_t)highest);
}

static const struct jp_fact attr_highest_flag = {
	.name = "attr.flags.highest",
	.about = "Each flag of attr is set alone on a dummy event; the highest that is taken.",
	.probe = highest_flag,
};
JP_REGISTER(fact, attr_highest_flag);

static void highest_sample_type(struct jp_answer *answer)
{
	unsigned int highest = 0;

	if (!may_open(answer))
		return;
	for (unsigned int bit = 0; bit < FLAG_BITS; bit++) {
		struct perf_event_attr attr = dummy();

		attr.sample_type |= UINT64_C(1) << bit;
		if (try_attr(&attr) != EINVAL)
			highest = bit;
	}
	jp_answer_number(answer, highest);
}

static const struct jp_fact attr_highest_sample_type = {
	.name = "attr.sample_type.highest",
	.about = "Each bit of sample_type is tried on a dummy event; the highest that is not "
		 "EINVAL (CODE_PAGE_SIZE 23, WEIGHT_STRUCT 24).",
	.probe = highest_sample_type,
};
JP_REGISTER(fact, attr_highest_sample_type);

static void highest_read_format(struct jp_answer *answer)
{
	unsigned int highest = 0;

	if (!may_open(answer))
		return;
	for (unsigned int bit = 0; bit < FLAG_BITS; bit++) {
		struct perf_event_attr attr = dummy();

		attr.read_format = UINT64_C(1) << bit;
		if (try_attr(&attr) != EINVAL)
			highest = bit;
	}
	jp_answer_number(answer, highest);
}

static const struct jp_fact attr_highest_read_format = {
	.name = "attr.read_format.highest",
	.about = "Each bit of read_format is tried on a dummy event; the highest that is not "
		 "EINVAL (LOST is 4).",
	.probe = highest_read_format,
};
JP_REGISTER(fact, attr_highest_read_format);

static void highest_branch_type(struct jp_answer *answer)
{
	unsigned int highest = 0;

	if (!may_open(answer))
		return;
	for (unsigned int bit = 0; bit < FLAG_BITS; bit++) {
		struct perf_event_attr attr = dummy();

		attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
		attr.branch_sample_type =
			UINT64_C(1) << bit | PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
		/* A dummy event has no branches: what is known fails later, and otherwise. */
		if (try_attr(&attr) != EINVAL)
			highest = bit;
	}
	jp_answer_number(answer, highest);
}

static const struct jp_fact attr_highest_branch_type = {
	.name = "attr.branch_sample_type.highest",
	.about = "Each bit of branch_sample_type is tried; the highest that is not EINVAL.",
	.probe = highest_branch_type,
};
JP_REGISTER(fact, attr_highest_branch_type);

static void highest_software(struct jp_answer *answer)
{
	unsigned int highest = 0;

	if (!may_open(answer))
		return;
	for (unsigned int config = 0; config < FLAG_BITS; config++) {
		struct perf_event_attr attr = dummy();
		int error;

		attr.config = config;
		error = try_attr(&attr);
		if (!error || error == EOPNOTSUPP || error == EACCES)
			highest = config;
	}
	jp_answer_number(answer, highest);
}

static const struct jp_fact attr_highest_software = {
	.name = "attr.software.highest",
	.about = "Each number of a software event is tried; the highest that is there "
		 "(DUMMY is 9, BPF_OUTPUT 10, CGROUP_SWITCHES 11).",
	.probe = highest_software,
};
JP_REGISTER(fact, attr_highest_software);

static void clocks(struct jp_answer *answer)
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

	if (!may_open(answer))
		return;
	jp_answer_list(answer);
	for (size_t i = 0; i < sizeof(tried) / sizeof(tried[0]); i++) {
		struct perf_event_attr attr = dummy();

		attr.clockid = tried[i].clock;
		jp_answer_text(answer, "%s %s", tried[i].name, jp_answer_errno(try_attr(&attr)));
	}
}

static const struct jp_fact attr_clocks = {
	.name = "attr.clockid",
	.about = "Each clock is asked for with use_clockid.",
	.probe = clocks,
};
JP_REGISTER(fact, attr_clocks);

static void stack_sizes(struct jp_answer *answer)
{
	static const uint32_t tried[] = {8, 12, 8192, 65528, 65532, 65536};

	if (!may_open(answer))
		return;
	jp_answer_list(answer);
	for (size_t i = 0; i < sizeof(tried) / sizeof(tried[0]); i++) {
		struct perf_event_attr attr = dummy();

		attr.sample_type |= PERF_SAMPLE_STACK_USER;
		attr.sample_stack_user = tried[i];
		jp_answer_text(answer, "%u %s", tried[i], jp_answer_errno(try_attr(&attr)));
	}
}

static const struct jp_fact attr_stack_sizes = {
	.name = "attr.sample_stack_user",
	.about = "Sizes of a stack dump are asked for.",
	.probe = stack_sizes,
};
JP_REGISTER(fact, attr_stack_sizes);

static void max_stacks(struct jp_answer *answer)
{
	long limit = jp_sysctl("perf_event_max_stack", -1);

	if (!may_open(answer))
		return;
	if (limit < 0)
		jp_answer_missing(answer, "kernel.perf_event_max_stack");
	jp_answer_list(answer);
	for (long more = 0; more < 2; more++) {
		struct perf_event_attr attr = dummy();

		attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
		attr.sample_max_stack = (uint16_t)(limit + more);
		jp_answer_text(answer, "%s %s", more ? "one more" : "the sysctl's",
			       jp_answer_errno(try_attr(&attr)));
	}
}

static const struct jp_fact attr_max_stack = {
	.name = "attr.sample_max_stack",
	.about =
		"Chains of as many addresses as kernel.perf_event_max_stack says, and of one more, "
		"are asked for.",
	.probe = max_stacks,
};
JP_REGISTER(fact, attr_max_stack);

static void inherit_anywhere(struct jp_answer *answer)
{
	struct perf_event_attr attr = jp_watch_sideband();
	struct jp_answer mapped = {0};
	struct jp_watch watch;

	/* The watch's own event belongs to one CPU and can be mapped; one of all CPUs cannot. */
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

static const struct jp_fact attr_inherit_anywhere = {
	.name = "attr.inherit.ring_without_cpu",
	.about = "The ring of an event with attr.inherit that belongs to no CPU is mapped.",
	.probe = inherit_anywhere,
};
JP_REGISTER(fact, attr_inherit_anywhere);
