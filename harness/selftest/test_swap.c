// SPDX-License-Identifier: GPL-2.0-only
/* Headers of a machine of the other byte order, bit by bit. */
#include <string.h>

#include "harness/format/perfdata/swap.h"
#include "harness/selftest/check.h"

/* Such a machine's first bit field is the highest bit of its first byte. */
static void flags(void)
{
	unsigned int right = 0;

	for (int bit = 0; bit < 64; bit++) {
		struct jp_perf_attr attr = {0};
		unsigned char bytes[8] = {0};

		bytes[bit / 8] = 0x80 >> bit % 8;
		memcpy(&attr.flags, bytes, sizeof(bytes));
		jp_perf_swap_attr(&attr);
		right += attr.flags == UINT64_C(1) << bit;
	}
	check(right == 64, "%u of 64 flags of an attr become what they are here", right);
}

static void numbers(void)
{
	struct jp_perf_attr attr = {.type = 0x01000000,
				    .size = 0x88000000,
				    .config = 0x0700000000000000,
				    .sample_type = 0x0200000000000000,
				    .wakeup_events = 0x05000000,
				    .sample_stack_user = 0x00200000,
				    .sample_max_stack = 0x7f00,
				    .aux_sample_size = 0x06000000};

	jp_perf_swap_attr(&attr);
	check(attr.type == 1 && attr.size == 0x88 && attr.config == 7 && attr.sample_type == 2,
	      "the attr's first words");
	check(attr.wakeup_events == 5 && attr.sample_stack_user == 0x2000 &&
		      attr.sample_max_stack == 0x7f && attr.aux_sample_size == 6,
	      "and the halves of those that hold two numbers");
}

int main(void)
{
	flags();
	numbers();
	return check_done();
}
