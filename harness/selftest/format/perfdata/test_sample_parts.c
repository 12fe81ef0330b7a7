// SPDX-License-Identifier: GPL-2.0-only
/* Tests that unused parts of records are skipped by their exact sizes. */
#include <elf.h>

#include "harness/format/perfdata/attrs.h"
#include "harness/format/perfdata/decode.h"
#include "harness/format/perfdata/swap.h"
#include "harness/selftest/support/check.h"

enum { MARK = 0x5151 };

/* The record under construction. */
static uint64_t words[512];
static size_t nr_words;

static void put_word(uint64_t value)
{
	words[nr_words++] = value;
}

static struct jp_perf_record *begin_record(uint32_t type, uint16_t misc)
{
	struct jp_perf_record *record = (void *)words;

	memset(words, 0, sizeof(words));
	nr_words = 1;
	*record = (struct jp_perf_record){.type = type, .misc = misc};
	return record;
}

static const char *decode_record(const struct jp_perf_layout *layout, struct jp_event *event,
				 struct jp_regs *regs)
{
	struct jp_perf_record *record = (void *)words;

	record->size = (uint16_t)(nr_words * sizeof(uint64_t));
	return jp_perf_decode(layout, record, event, regs);
}

/* Checks a sample with @nr_skipped unused words before a user register MARK. With fewer words the
 * record must be refused or give another register. */
static void check_sample(const char *label, struct jp_perf_attr attr, const uint64_t *skipped,
			 size_t nr_skipped)
{
	struct jp_perf_layout layout;
	struct jp_event event;
	struct jp_regs regs = {0};

	attr.sample_type |= JP_PERF_SAMPLE_IP | JP_PERF_SAMPLE_REGS_USER;
	attr.sample_regs_user = 1 << 7;
	jp_perf_compute_layout(&attr, EM_X86_64, &layout);
	begin_record(JP_PERF_RECORD_SAMPLE, JP_PERF_MISC_USER);
	put_word(0x1000);
	for (size_t i = 0; i < nr_skipped; i++)
		put_word(skipped[i]);
	put_word(2); /* the ABI */
	put_word(MARK);
	check(!decode_record(&layout, &event, &regs) && event.sample.regs == &regs &&
		      regs.r[7] == MARK,
	      "%s: the register behind is read", label);
	nr_words--;
	check(decode_record(&layout, &event, &regs), "%s: one word less is refused", label);
	while (--nr_words > 2)
		if (!decode_record(&layout, &event, &regs) && event.sample.regs)
			check(false, "%s: %zu words are refused", label, nr_words);
}

TEST(counts)
{
	static const uint64_t values[] = {1, 2, 3, 4, 5, 6, 7, 8};

	for (uint64_t format = 0; format < 32; format++) {
		size_t times = (format & 1) + (format >> 1 & 1);
		size_t each = 1 + (format >> 2 & 1) + (format >> 4 & 1);
		const struct jp_perf_attr attr = {.sample_type = JP_PERF_SAMPLE_READ,
						  .read_format = format};
		uint64_t group[16] = {2};
		char label[40];

		snprintf(label, sizeof(label), "counts of format %#x", (unsigned)format);
		if (format & JP_PERF_FORMAT_GROUP)
			check_sample(label, attr, group, 1 + times + 2 * each);
		else
			check_sample(label, attr, values, times + each);
	}
}

TEST(branches)
{
	const struct jp_perf_attr attr = {.sample_type = JP_PERF_SAMPLE_BRANCH_STACK};
	struct jp_perf_attr other_attr = attr;
	uint64_t values[16] = {2};

	check_sample("branches", attr, values, 1 + 6);
	other_attr.branch_sample_type = JP_PERF_BRANCH_HW_INDEX;
	check_sample("branches with an index", other_attr, values, 1 + 1 + 6);
	other_attr.branch_sample_type |= JP_PERF_BRANCH_COUNTERS;
	check_sample("branches with an index and counters", other_attr, values, 1 + 1 + 6 + 2);
	values[0] = 0;
	check_sample("no branches", attr, values, 1);
}

/* Raw data and its size of four bytes are padded to a multiple of 8. */
TEST(raw_data)
{
	const struct jp_perf_attr attr = {.sample_type = JP_PERF_SAMPLE_RAW};
	static const uint32_t sizes[] = {0, 4, 5, 12, 13, 20};
	static const size_t expected[] = {1, 1, 2, 2, 3, 3};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		uint64_t values[4] = {sizes[i]};
		char label[40];

		snprintf(label, sizeof(label), "%u bytes of raw data", sizes[i]);
		check_sample(label, attr, values, expected[i]);
	}
}

static const struct jp_perf_attr plain = {.sample_type = JP_PERF_SAMPLE_TID,
					  .flags = JP_PERF_ATTR_SAMPLE_ID_ALL};

static struct jp_perf_layout make_plain_layout(void)
{
	struct jp_perf_layout layout;

	jp_perf_compute_layout(&plain, EM_X86_64, &layout);
	return layout;
}

TEST(namespaces)
{
	const struct jp_perf_layout layout = make_plain_layout();
	struct jp_event event;
	struct jp_regs regs;

	begin_record(JP_PERF_RECORD_NAMESPACES, 0);
	put_word(1);
	put_word(7);
	put_word(MARK); /* the sample id */
	check(!decode_record(&layout, &event, &regs) && event.type == JP_EVENT_OTHER &&
		      event.namespaces.count == 7,
	      "a NAMESPACES record has its count");
	check(!event.namespaces.pid && !event.namespaces.mnt, "a cut record has no inodes");
	begin_record(JP_PERF_RECORD_NAMESPACES, 0);
	put_word(1);
	put_word(7);
	for (uint64_t i = 0; i < 7; i++) {
		put_word(4);
		put_word(100 + i);
	}
	put_word(MARK);
	check(!decode_record(&layout, &event, &regs) && event.namespaces.pid == 103 &&
		      event.namespaces.mnt == 105,
	      "a NAMESPACES record has the inodes of pid and mount namespaces");
	begin_record(JP_PERF_RECORD_NAMESPACES, 0);
	put_word(1);
	put_word(MARK);
	check(!decode_record(&layout, &event, &regs) && event.namespaces.count == 0,
	      "the sample id is not read as a count");
}

TEST(lost_records)
{
	const struct jp_perf_layout layout = make_plain_layout();
	struct jp_event event;
	struct jp_regs regs;

	for (int bpf = 0; bpf < 2; bpf++) {
		begin_record(JP_PERF_RECORD_LOST_SAMPLES, bpf ? JP_PERF_MISC_LOST_SAMPLES_BPF : 0);
		put_word(9);
		put_word(MARK);
		check(!decode_record(&layout, &event, &regs) && event.lost.lost == 9 &&
			      event.type == (bpf ? JP_EVENT_OTHER : JP_EVENT_LOST_SAMPLES),
		      "LOST_SAMPLES %s", bpf ? "of a BPF filter are not lost" : "are lost");
	}
	begin_record(JP_PERF_RECORD_LOST, JP_PERF_MISC_LOST_SAMPLES_BPF);
	put_word(1);
	put_word(9);
	put_word(MARK);
	check(!decode_record(&layout, &event, &regs) && event.type == JP_EVENT_LOST,
	      "the BPF bit does not matter in LOST");
}

/* A mapping is the kernel's by its mode, or by pid -1. */
TEST(kernel_maps)
{
	static const struct {
		uint32_t pid;
		uint16_t mode;
		bool kernel;
	} table[] = {{1, 1, true},  {1, 2, false},         {1, 3, false}, {1, 4, true},
		     {1, 5, false}, {UINT32_MAX, 2, true}, {0, 2, false}};
	const struct jp_perf_layout layout = make_plain_layout();
	struct jp_event event;
	struct jp_regs regs;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		begin_record(JP_PERF_RECORD_MMAP, table[i].mode);
		put_word(table[i].pid);
		put_word(UINT64_C(0xfffffffffffff000));
		put_word(0x2000); /* wraps around */
		put_word(0);
		put_word('a');
		put_word(MARK);
		check(!decode_record(&layout, &event, &regs) == table[i].kernel &&
			      event.kernel_map == table[i].kernel,
		      "pid %d, mode %u: %s mapping", (int)table[i].pid, table[i].mode,
		      table[i].kernel ? "the kernel's" : "a process's");
		words[2] = UINT64_C(0xffffffffffffefff);
		words[3] = 0x1000;
		check(!decode_record(&layout, &event, &regs), "the last address may be mapped");
	}
}

TEST(swapped_attr)
{
	static const unsigned char widths[] = {4, 4, 8, 8, 8, 8, 8, 4, 4, 8, 8, 8,
					       8, 4, 4, 8, 4, 2, 2, 4, 4, 8, 8, 8};
	struct jp_perf_attr native_attr, foreign_attr;
	unsigned char *field = (unsigned char *)&native_attr,
		      *swapped_field = (unsigned char *)&foreign_attr;

	for (size_t i = 0; i < sizeof(native_attr); i++)
		field[i] = (unsigned char)(i + 1);
	native_attr.flags = 0;
	for (size_t i = 0; i < sizeof(widths); field += widths[i], swapped_field += widths[i++])
		for (size_t byte = 0; byte < widths[i]; byte++)
			swapped_field[byte] = field[widths[i] - 1 - byte];
	jp_perf_swap_attr(&foreign_attr);
	check(swapped_field == (unsigned char *)(&foreign_attr + 1) &&
		      !memcmp(&foreign_attr, &native_attr, sizeof(native_attr)),
	      "each field of an attr is swapped");
}
