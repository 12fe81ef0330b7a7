// SPDX-License-Identifier: GPL-2.0-only
/* Facts about the flags and bits that perf_event_open() accepts, found by trying. */
#include <errno.h>

#include "harness/facts/trial.h"

enum { BITS = 64 };

/* Encodes in jp_fact.parameter a dummy event with one or two flags and further bits of sample_type.
 */
#define HOW(flag, other, type) ((flag) | (other) << 8 | (long)(type) << 16)

static void try_flags(struct jp_answer *answer)
{
	struct perf_event_attr attr = jp_trial_make_dummy_attr();
	unsigned int second_bit = answer->parameter >> 8 & 0xff;

	if (!jp_trial_is_allowed(answer))
		return;
	attr.size = PERF_ATTR_SIZE_VER7;
	attr.sample_type |= (uint64_t)answer->parameter >> 16;
	jp_attr_set_bit(&attr, answer->parameter & 0xff);
	if (second_bit)
		jp_attr_set_bit(&attr, second_bit);
	jp_answer_text(answer, "%s", jp_answer_errno(jp_trial_open(&attr)));
}

enum part { FLAG, SAMPLE_TYPE, READ_FORMAT, BRANCH_TYPE, SOFTWARE };

static struct perf_event_attr make_attr(enum part part, unsigned int bit)
{
	struct perf_event_attr attr = jp_trial_make_dummy_attr();

	if (part == FLAG)
		jp_attr_set_bit(&attr, bit);
	else if (part == SAMPLE_TYPE)
		attr.sample_type |= UINT64_C(1) << bit;
	else if (part == READ_FORMAT)
		attr.read_format = UINT64_C(1) << bit;
	else if (part == SOFTWARE)
		attr.config = bit;
	if (part != BRANCH_TYPE)
		return attr;
	attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type =
		UINT64_C(1) << bit | PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
	return attr;
}

/* Returns whether the kernel knows a bit of @part, from the @error of perf_event_open() with this
 * bit. */
static bool is_known(enum part part, int error)
{
	/* The kernel rejects reserved flags with EINVAL, but also flags that need another flag.
	 * Only the highest accepted flag is stated, and such flags are below one that is
	 * accepted. */
	if (part == FLAG)
		return !error;
	if (part == SOFTWARE)
		return !error || error == EOPNOTSUPP || error == EACCES;
	/* A dummy event has no branches, so a known bit fails later, with another error than
	 * EINVAL. */
	return error != EINVAL;
}

static void find_highest_bit(struct jp_answer *answer)
{
	enum part part = (enum part)answer->parameter;
	int highest = part == FLAG ? -1 : 0;

	if (!jp_trial_is_allowed(answer))
		return;
	for (unsigned int bit = 0; bit < BITS; bit++) {
		struct perf_event_attr attr = make_attr(part, bit);

		if (is_known(part, jp_trial_open(&attr)))
			highest = (int)bit;
	}
	if (highest < 0)
		jp_answer_missing(answer, "any flag of attr");
	else
		jp_answer_number(answer, (uint64_t)highest);
}

static const struct jp_fact facts[] = {
	{"attr.bit.build_id", "Opens a dummy event with attr.build_id; ok or the error.",
	 .probe = try_flags, .parameter = JP_ATTR_BUILD_ID},
	{"attr.bit.inherit_thread",
	 "Opens a dummy event with attr.inherit and attr.inherit_thread; ok or the error.",
	 .probe = try_flags, .parameter = HOW(JP_ATTR_INHERIT, JP_ATTR_INHERIT_THREAD, 0)},
	{"attr.bit.remove_on_exec",
	 "Opens a dummy event with attr.remove_on_exec; ok or the error.", .probe = try_flags,
	 .parameter = JP_ATTR_REMOVE_ON_EXEC},
	{"attr.bit.sigtrap",
	 "Opens a dummy event with attr.sigtrap and attr.remove_on_exec; ok or the error.",
	 .probe = try_flags, .parameter = HOW(JP_ATTR_SIGTRAP, JP_ATTR_REMOVE_ON_EXEC, 0)},
	{"attr.bit.defer_callchain",
	 "Opens a dummy event with callchains and attr.defer_callchain; ok or the error.",
	 .probe = try_flags, .parameter = HOW(JP_ATTR_DEFER_CALLCHAIN, 0, PERF_SAMPLE_CALLCHAIN)},
	{"attr.bit.defer_output", "Opens a dummy event with attr.defer_output; ok or the error.",
	 .probe = try_flags, .parameter = JP_ATTR_DEFER_OUTPUT},
	{"attr.inherit_with_read",
	 "Opens a dummy event with attr.inherit and PERF_SAMPLE_READ; ok or the error.",
	 .probe = try_flags, .parameter = HOW(JP_ATTR_INHERIT, 0, PERF_SAMPLE_READ)},
	{"attr.flags.highest",
	 "Tries each flag of attr alone on a dummy event; the highest that the kernel accepts.",
	 .probe = find_highest_bit, .parameter = FLAG},
	{"attr.sample_type.highest",
	 "Tries each bit of sample_type on a dummy event; the highest that does not give EINVAL "
	 "(CODE_PAGE_SIZE 23, WEIGHT_STRUCT 24).",
	 .probe = find_highest_bit, .parameter = SAMPLE_TYPE},
	{"attr.read_format.highest",
	 "Tries each bit of read_format on a dummy event; the highest that does not give EINVAL "
	 "(LOST is 4).",
	 .probe = find_highest_bit, .parameter = READ_FORMAT},
	{"attr.branch_sample_type.highest",
	 "Tries each bit of branch_sample_type; the highest that does not give EINVAL.",
	 .probe = find_highest_bit, .parameter = BRANCH_TYPE},
	{"attr.software.highest",
	 "Tries each number of a software event; the highest that exists (DUMMY is 9, "
	 "BPF_OUTPUT 10, CGROUP_SWITCHES 11).",
	 .probe = find_highest_bit, .parameter = SOFTWARE},
};
JP_REGISTER_ROWS(fact, facts);
