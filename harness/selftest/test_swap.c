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

/* A record being made, by both machines' byte orders at once. */
struct swapped_pair {
	unsigned char theirs[128], ours[128];
	size_t size;
};

static void put(struct swapped_pair *pair, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		pair->ours[pair->size + i] = value >> 8 * i;
		pair->theirs[pair->size + size - 1 - i] = value >> 8 * i;
	}
	pair->size += size;
}

static void put_text(struct swapped_pair *pair, const char *text, size_t size)
{
	memcpy(pair->ours + pair->size, text, size);
	memcpy(pair->theirs + pair->size, text, size);
	pair->size += size;
}

static void swaps(struct swapped_pair *pair, enum jp_perf_record_type type, uint16_t misc,
		  const char *what)
{
	const struct jp_perf_layout layout = {0};
	struct jp_perf_record head = {.type = type, .misc = misc, .size = pair->size};

	memcpy(pair->ours, &head, sizeof(head));
	memcpy(pair->theirs, &head, sizeof(head));
	jp_perf_swap_record_header((struct jp_perf_record *)pair->theirs);
	jp_perf_swap_words((struct jp_perf_record *)pair->theirs);
	jp_perf_swap_rest(&layout, (struct jp_perf_record *)pair->theirs);
	check(memcmp(pair->ours, pair->theirs, pair->size) == 0, "%s", what);
}

static struct swapped_pair begin(void)
{
	struct swapped_pair pair = {.size = sizeof(struct jp_perf_record)};

	put(&pair, 0x11121314, 4); /* pid */
	put(&pair, 0x21222324, 4); /* tid */
	return pair;
}

static struct swapped_pair mapping(void)
{
	struct swapped_pair pair = begin();

	put(&pair, 0x0102030405060708, 8);
	put(&pair, 0x1112131415161718, 8);
	put(&pair, 0x2122232425262728, 8);
	return pair;
}

static void records(void)
{
	struct swapped_pair pair = mapping();

	put_text(&pair, "/bin/a\0", 8);
	swaps(&pair, JP_PERF_RECORD_MMAP, 0, "MMAP");
	pair = mapping();
	put_text(&pair, "/a/path/of/more/than/thirty/bytes\0\0\0\0\0\0", 40);
	swaps(&pair, JP_PERF_RECORD_MMAP, 0, "MMAP with a long name");
	pair = mapping();
	put(&pair, 8, 4);
	put(&pair, 1, 4);
	put(&pair, 77, 8);
	put(&pair, 3, 8);
	put(&pair, 5, 4);
	put(&pair, 2, 4);
	put_text(&pair, "/bin/a\0", 8);
	swaps(&pair, JP_PERF_RECORD_MMAP2, 0, "MMAP2");
	pair = begin();
	put_text(&pair, "a\0\0\0\0\0\0", 8);
	swaps(&pair, JP_PERF_RECORD_COMM, 0, "COMM");
	pair = begin();
	put_text(&pair, "fifteen letters\0", 16);
	swaps(&pair, JP_PERF_RECORD_COMM, 0, "COMM with a long name");
	for (int exits = 0; exits < 2; exits++) {
		pair = begin();
		put(&pair, 0x31323334, 4);
		put(&pair, 0x41424344, 4);
		put(&pair, 0x5152535455565758, 8);
		swaps(&pair, exits ? JP_PERF_RECORD_EXIT : JP_PERF_RECORD_FORK, 0,
		      exits ? "EXIT" : "FORK");
	}
	pair = begin();
	put(&pair, 1, 8);
	put(&pair, 4, 8);
	put(&pair, 0xf0000001, 8);
	swaps(&pair, JP_PERF_RECORD_NAMESPACES, 0, "NAMESPACES");
	pair = (struct swapped_pair){.size = sizeof(struct jp_perf_record)};
	put(&pair, 0x0102030405060708, 8);
	put(&pair, 9, 8);
	swaps(&pair, JP_PERF_RECORD_LOST, 0, "LOST, which has no pid");
}

int main(void)
{
	records();
	flags();
	return check_done();
}
