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

/* A record being made, by both machines' byte orders at once. */
struct both {
	unsigned char theirs[128], ours[128];
	size_t size;
};

static void put(struct both *both, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		both->ours[both->size + i] = value >> 8 * i;
		both->theirs[both->size + size - 1 - i] = value >> 8 * i;
	}
	both->size += size;
}

static void put_text(struct both *both, const char *text, size_t size)
{
	memcpy(both->ours + both->size, text, size);
	memcpy(both->theirs + both->size, text, size);
	both->size += size;
}

static void swaps(struct both *both, enum jp_perf_record_type type, uint16_t misc, const char *what)
{
	const struct jp_perf_layout layout = {0};
	struct jp_perf_record head = {.type = type, .misc = misc, .size = both->size};

	memcpy(both->ours, &head, sizeof(head));
	memcpy(both->theirs, &head, sizeof(head));
	jp_perf_swap_record_header((struct jp_perf_record *)both->theirs);
	jp_perf_swap_words((struct jp_perf_record *)both->theirs);
	jp_perf_swap_rest(&layout, (struct jp_perf_record *)both->theirs);
	check(memcmp(both->ours, both->theirs, both->size) == 0, "%s", what);
}

static struct both begin(void)
{
	struct both both = {.size = sizeof(struct jp_perf_record)};

	put(&both, 0x11121314, 4); /* pid */
	put(&both, 0x21222324, 4); /* tid */
	return both;
}

static struct both mapping(void)
{
	struct both both = begin();

	put(&both, 0x0102030405060708, 8);
	put(&both, 0x1112131415161718, 8);
	put(&both, 0x2122232425262728, 8);
	return both;
}

static void records(void)
{
	struct both both = mapping();

	put_text(&both, "/bin/a\0", 8);
	swaps(&both, JP_PERF_RECORD_MMAP, 0, "MMAP");
	both = mapping();
	put_text(&both, "/a/path/of/more/than/thirty/bytes\0\0\0\0\0\0", 40);
	swaps(&both, JP_PERF_RECORD_MMAP, 0, "MMAP with a long name");
	both = mapping();
	put(&both, 8, 4);
	put(&both, 1, 4);
	put(&both, 77, 8);
	put(&both, 3, 8);
	put(&both, 5, 4);
	put(&both, 2, 4);
	put_text(&both, "/bin/a\0", 8);
	swaps(&both, JP_PERF_RECORD_MMAP2, 0, "MMAP2");
	both = begin();
	put_text(&both, "a\0\0\0\0\0\0", 8);
	swaps(&both, JP_PERF_RECORD_COMM, 0, "COMM");
	both = begin();
	put_text(&both, "fifteen letters\0", 16);
	swaps(&both, JP_PERF_RECORD_COMM, 0, "COMM with a long name");
	for (int exits = 0; exits < 2; exits++) {
		both = begin();
		put(&both, 0x31323334, 4);
		put(&both, 0x41424344, 4);
		put(&both, 0x5152535455565758, 8);
		swaps(&both, exits ? JP_PERF_RECORD_EXIT : JP_PERF_RECORD_FORK, 0,
		      exits ? "EXIT" : "FORK");
	}
	both = begin();
	put(&both, 1, 8);
	put(&both, 4, 8);
	put(&both, 0xf0000001, 8);
	swaps(&both, JP_PERF_RECORD_NAMESPACES, 0, "NAMESPACES");
	both = (struct both){.size = sizeof(struct jp_perf_record)};
	put(&both, 0x0102030405060708, 8);
	put(&both, 9, 8);
	swaps(&both, JP_PERF_RECORD_LOST, 0, "LOST, which has no pid");
}

int main(void)
{
	records();
	flags();
	numbers();
	return check_done();
}
