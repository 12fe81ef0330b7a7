// SPDX-License-Identifier: GPL-2.0-only
/* Counting distinct instructions with samples, by function and offset of any 32-bit values. */
#include "harness/selftest/support/check.h"
#include "validators/stack_counts.h"

/* Counts samples at @places, (function, offset). Returns the findings, which the caller frees. */
static struct jp_findings count_places(const struct jp_evidence *evidence,
				       const uint32_t (*places)[2], size_t count)
{
	static const struct jp_asked requested = {.names = true};
	struct jp_view view = {.evidence = evidence, .asked = &requested};
	struct jp_stack_counts counts;

	if (jp_stack_counts_init(&counts, evidence))
		exit(99);
	for (size_t i = 0; i < count; i++)
		if (jp_stack_counts_place(&counts, places[i][0], places[i][1]))
			exit(99);
	if (jp_stack_counts_add(&counts, &view))
		exit(99);
	jp_stack_counts_free(&counts);
	return view.findings;
}

static uint64_t count_distinct_places(const uint32_t (*places)[2], size_t count)
{
	struct jp_truth truth = {.version = 3};
	const struct jp_evidence evidence = {.truth = &truth};
	struct jp_findings findings = count_places(&evidence, places, count);
	const struct jp_metric *metric = jp_findings_find_metric(&findings, "distinct");
	const uint64_t nr_places = metric ? metric->k : UINT64_MAX;

	jp_findings_free(&findings);
	return nr_places;
}

/* Counts both instructions of two functions, the second at @second, of a capture with @breakpoints.
 * Returns whether it finds no contradiction, and that each instruction had a breakpoint. */
static bool is_complete(uint64_t second, uint64_t breakpoints)
{
	struct jp_truth_insn insns[] = {{.offset = 0}, {.offset = 4}};
	const struct jp_truth_layout layout = {.insns = insns, .count = 2};
	struct jp_truth_code codes[] = {{.id = 1, .addr = 0x1000, .size = 8, .layout = &layout},
					{.id = 2, .addr = second, .size = 8, .layout = &layout}};
	const struct jp_truth_code *functions[] = {&codes[0], &codes[1]};
	struct jp_truth_path path = {.depth = 2, .functions = functions};
	struct jp_truth truth = {
		.version = 3, .codes = codes, .nr_codes = 2, .paths = &path, .nr_paths = 1};
	const struct jp_evidence evidence = {.truth = &truth, .info.breakpoints = breakpoints};
	static const uint32_t places[][2] = {{1, 0}, {1, 4}, {2, 0}, {2, 4}};
	struct jp_findings findings = count_places(&evidence, places, 4);
	const bool complete = !*findings.error && !jp_findings_find_metric(&findings, "insn.given");

	jp_findings_free(&findings);
	return complete;
}

TEST(stack_counts)
{
	static const uint32_t samples[][2] = {
		{1, 4},          {0, 0},          {0, UINT32_MAX},
		{1, 4},          {UINT32_MAX, 0}, {UINT32_MAX, UINT32_MAX},
		{UINT32_MAX, 0}, {1, 8},          {UINT32_MAX / 2, 0},
		{1, 4}};

	check(!count_distinct_places(samples, 0), "without samples no instruction is counted");
	check(count_distinct_places(samples, 1) == 1, "one sample counts one instruction");
	check(count_distinct_places(samples, sizeof(samples) / sizeof(*samples)) == 7,
	      "repeated hits are one");
	check(is_complete(0x1000, 2), "a breakpoint samples each function that was at its address");
	check(!is_complete(0x1000, 1), "an instruction without a breakpoint has no sample");
	check(is_complete(0x1008, 4) && !is_complete(0x1008, 3),
	      "functions at other addresses need breakpoints of their own");
}
