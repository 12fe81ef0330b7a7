// SPDX-License-Identifier: GPL-2.0-only
/* Counting distinct instructions with samples, by function and offset of any 32-bit values. */
#include "harness/selftest/support/check.h"
#include "validators/stack_counts.h"

static uint64_t count_distinct(const uint32_t (*places)[2], size_t count)
{
	struct jp_truth truth = {.version = 3};
	const struct jp_evidence evidence = {.truth = &truth};
	static const struct jp_asked asked = {.names = true};
	struct jp_view view = {.evidence = &evidence, .asked = &asked};
	const struct jp_metric *metric;
	struct jp_stack_counts counts;
	uint64_t found = UINT64_MAX;

	if (jp_stack_counts_init(&counts, &evidence))
		exit(99);
	for (size_t i = 0; i < count; i++)
		if (jp_stack_counts_place(&counts, places[i][0], places[i][1]))
			exit(99);
	metric = jp_stack_counts_add(&counts, &view)
			 ? NULL
			 : jp_findings_find_metric(&view.findings, "distinct");
	if (metric)
		found = metric->k;
	jp_stack_counts_free(&counts);
	jp_findings_free(&view.findings);
	return found;
}

int main(void)
{
	static const uint32_t all[][2] = {
		{1, 4},          {0, 0},          {0, UINT32_MAX},
		{1, 4},          {UINT32_MAX, 0}, {UINT32_MAX, UINT32_MAX},
		{UINT32_MAX, 0}, {1, 8},          {UINT32_MAX / 2, 0},
		{1, 4}};

	check(!count_distinct(all, 0), "without samples no instruction is counted");
	check(count_distinct(all, 1) == 1, "one sample counts one instruction");
	check(count_distinct(all, sizeof(all) / sizeof(*all)) == 7, "repeated hits are one");
	return check_done();
}
