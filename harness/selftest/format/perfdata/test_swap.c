// SPDX-License-Identifier: GPL-2.0-only
/* Tests records of a machine of the other byte order. */
#include "harness/format/perfdata/swap.h"
#include "harness/selftest/support/check.h"

/* On such a machine, the first bit field is the highest bit of the first byte. */
TEST(attr_flags)
{
	unsigned int nr_right = 0;

	for (int bit = 0; bit < 64; bit++) {
		struct jp_perf_attr attr = {0};
		unsigned char bytes[8] = {0};

		bytes[bit / 8] = 0x80 >> bit % 8;
		memcpy(&attr.flags, bytes, sizeof(bytes));
		jp_perf_swap_attr(&attr);
		nr_right += attr.flags == UINT64_C(1) << bit;
	}
	check(nr_right == 64, "%u of 64 flags of an attr are swapped", nr_right);
}

/* A record in both byte orders. */
struct swapped_pair {
	unsigned char foreign[512], native[512];
	size_t size;
};

static void put_number(struct swapped_pair *pair, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		pair->native[pair->size + i] = value >> 8 * i;
		pair->foreign[pair->size + size - 1 - i] = value >> 8 * i;
	}
	pair->size += size;
}

static void put_text(struct swapped_pair *pair, const char *text, size_t size)
{
	memcpy(pair->native + pair->size, text, size);
	memcpy(pair->foreign + pair->size, text, size);
	pair->size += size;
}

/* Swaps a record in the steps of the reader. */
static void swap_record(const struct jp_perf_layout *layout, struct swapped_pair *pair,
			struct jp_perf_record head)
{
	head.size = pair->size;
	memcpy(pair->native, &head, sizeof(head));
	memcpy(pair->foreign, &head, sizeof(head));
	jp_perf_swap_record_header((struct jp_perf_record *)pair->foreign);
	jp_perf_swap_words((struct jp_perf_record *)pair->foreign);
	jp_perf_swap_rest(layout, (struct jp_perf_record *)pair->foreign);
}

/* Makes a record. @fields has a character for each field: its width in bytes; p: a protection; T:
 * eight letters; t: the end of a text. */
static struct swapped_pair make_record(const char *fields)
{
	struct swapped_pair pair = {.size = sizeof(struct jp_perf_record)};
	uint64_t value = 0x0102030405060708;

	for (; *fields; fields++, value += 0x1010101010101010) {
		if (*fields == 'T' || *fields == 't')
			put_text(&pair, *fields == 'T' ? "/letters" : "a\0\0\0\0\0\0", 8);
		else if (*fields == 'p')
			put_number(&pair, 5, 4);
		else
			put_number(&pair, value, (size_t)(*fields - '0'));
	}
	return pair;
}

TEST(records)
{
	static const struct {
		const char *label, *fields;
		enum jp_perf_record_type type;
	} table[] = {
		{"MMAP", "44888t", JP_PERF_RECORD_MMAP},
		{"MMAP with a long name", "44888TTTTt", JP_PERF_RECORD_MMAP},
		{"MMAP2", "448884488p4t", JP_PERF_RECORD_MMAP2},
		{"MMAP2 without protection and flags", "448884488Tt", JP_PERF_RECORD_MMAP2},
		{"COMM", "44t", JP_PERF_RECORD_COMM},
		{"COMM with a long name", "44Tt", JP_PERF_RECORD_COMM},
		{"FORK", "44448", JP_PERF_RECORD_FORK},
		{"EXIT", "44448", JP_PERF_RECORD_EXIT},
		{"NAMESPACES", "44888", JP_PERF_RECORD_NAMESPACES},
		{"LOST, which has no pid", "88", JP_PERF_RECORD_LOST},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct swapped_pair pair = make_record(table[i].fields);

		swap_record(&(struct jp_perf_layout){0}, &pair,
			    (struct jp_perf_record){.type = table[i].type});
		check(memcmp(pair.native, pair.foreign, pair.size) == 0, "%s is swapped",
		      table[i].label);
	}
}

/* A sample with all parts of variable size. */
static struct swapped_pair make_sample(void)
{
	struct swapped_pair pair = {.size = sizeof(struct jp_perf_record)};

	put_number(&pair, 0x0102030405060708, 8); /* ip */
	put_number(&pair, 0x11121314, 4);         /* pid */
	put_number(&pair, 0x21222324, 4);         /* tid */
	put_number(&pair, 3, 4);                  /* cpu */
	put_number(&pair, 0, 4);
	put_number(&pair, 2, 8); /* counts of a group of two events, with ids */
	put_number(&pair, 0x3132, 8);
	for (int i = 0; i < 4; i++)
		put_number(&pair, 0x4142434400 + i, 8);
	put_number(&pair, 2, 8); /* a callchain */
	put_number(&pair, 0x5152535455565758, 8);
	put_number(&pair, 0x6162636465666768, 8);
	put_number(&pair, 12, 4); /* raw data */
	put_text(&pair, "a tracepoint", 12);
	put_number(&pair, 1, 8); /* branches, between an index and counters */
	put_number(&pair, 0x71, 8);
	for (int i = 0; i < 4; i++)
		put_number(&pair, 0x8182838400 + i, 8);
	put_number(&pair, 2, 8); /* registers */
	put_number(&pair, 0x9192939495969798, 8);
	put_number(&pair, 0xa1a2a3a4a5a6a7a8, 8);
	put_number(&pair, 16, 8); /* a stack */
	put_text(&pair, "sixteen letters.", 16);
	put_number(&pair, 8, 8);
	return pair;
}

TEST(samples)
{
	static const struct jp_perf_attr attr = {
		.sample_type = JP_PERF_SAMPLE_IP | JP_PERF_SAMPLE_TID | JP_PERF_SAMPLE_CPU |
			       JP_PERF_SAMPLE_READ | JP_PERF_SAMPLE_CALLCHAIN | JP_PERF_SAMPLE_RAW |
			       JP_PERF_SAMPLE_BRANCH_STACK | JP_PERF_SAMPLE_REGS_USER |
			       JP_PERF_SAMPLE_STACK_USER,
		.read_format =
			JP_PERF_FORMAT_GROUP | JP_PERF_FORMAT_ID | JP_PERF_FORMAT_TIME_ENABLED,
		.branch_sample_type = JP_PERF_BRANCH_HW_INDEX | JP_PERF_BRANCH_COUNTERS,
		.sample_regs_user = 3,
	};
	const struct jp_perf_record head = {.type = JP_PERF_RECORD_SAMPLE};
	struct swapped_pair full = make_sample(), truncated;
	unsigned int nr_kept = 0, nr_good = 0, cuts = 0;
	struct jp_perf_layout layout;

	jp_perf_compute_layout(&attr, 0, &layout);
	swap_record(&layout, &full, head);
	check(memcmp(full.native, full.foreign, full.size) == 0, "a sample's parts are swapped");
	for (size_t size = 8; size < full.size; size += 8, cuts++) {
		const struct swapped_pair before = truncated = make_sample();

		truncated.size = size;
		swap_record(&layout, &truncated, head);
		nr_kept += memcmp(truncated.foreign + size, before.foreign + size,
				  sizeof(truncated.foreign) - size) == 0;
		nr_good +=
			size < layout.fixed ||
			memcmp(truncated.foreign + 8, truncated.native + 8, layout.fixed - 8) == 0;
	}
	check(nr_kept == cuts && nr_good == cuts,
	      "of %u cuts %u change nothing behind and %u are right", cuts, nr_kept, nr_good);
}

TEST(cut_records)
{
	static const struct {
		enum jp_perf_record_type type;
		size_t full_size;
	} table[] = {
		{JP_PERF_RECORD_MMAP, 40}, {JP_PERF_RECORD_MMAP2, 72},
		{JP_PERF_RECORD_COMM, 16}, {JP_PERF_RECORD_FORK, 24},
		{JP_PERF_RECORD_EXIT, 24}, {JP_PERF_RECORD_NAMESPACES, 16},
	};
	const struct jp_perf_layout layout = {.trailer = 16, .end_tid = 16, .end_cpu = 8};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct swapped_pair pair = {.size = sizeof(struct jp_perf_record)};
		const struct jp_perf_record head = {.type = table[i].type};

		for (uint64_t word = 0; pair.size < table[i].full_size - 8; word++)
			put_number(&pair, 0x0102030405060700 + word, 8);
		put_number(&pair, 0x11121314, 4); /* sample id */
		put_number(&pair, 0x21222324, 4);
		put_number(&pair, 3, 4);
		put_number(&pair, 0, 4);
		put_text(&pair, "behind it", 9);
		pair.size -= 9;
		swap_record(&layout, &pair, head);
		check(memcmp(pair.native, pair.foreign, pair.size + 9) == 0,
		      "a cut record of type %d is left as words", head.type);
	}
}
