// SPDX-License-Identifier: GPL-2.0-only
/* Parts of records that are skipped, not used: each by its exact size, or what follows is wrong. */
#include <elf.h>

#include "harness/format/perfdata/attrs.h"
#include "harness/format/perfdata/decode.h"
#include "harness/format/perfdata/swap.h"
#include "harness/selftest/support/check.h"

enum { MARK = 0x5151 };

/* A record that is written word by word. */
static uint64_t words[512];
static size_t nr_words;

static void put(uint64_t value)
{
	words[nr_words++] = value;
}

static struct jp_perf_record *begin(uint32_t type, uint16_t misc)
{
	struct jp_perf_record *record = (void *)words;

	memset(words, 0, sizeof(words));
	nr_words = 1;
	*record = (struct jp_perf_record){.type = type, .misc = misc};
	return record;
}

static const char *decode(const struct jp_perf_layout *layout, struct jp_event *event,
			  struct jp_regs *regs)
{
	struct jp_perf_record *record = (void *)words;

	record->size = (uint16_t)(nr_words * sizeof(uint64_t));
	return jp_perf_decode(layout, record, event, regs);
}

/* A sample with @skipped words of parts that nobody reads, then a user register that is MARK. Each
 * other number of words is refused, or gives another register. */
static void sample(const char *what, struct jp_perf_attr attr, const uint64_t *skipped,
		   size_t nr_skipped)
{
	struct jp_perf_layout layout;
	struct jp_event event;
	struct jp_regs regs = {0};

	attr.sample_type |= JP_PERF_SAMPLE_IP | JP_PERF_SAMPLE_REGS_USER;
	attr.sample_regs_user = 1 << 7;
	jp_perf_layout(&attr, EM_X86_64, &layout);
	begin(JP_PERF_RECORD_SAMPLE, JP_PERF_MISC_USER);
	put(0x1000);
	for (size_t i = 0; i < nr_skipped; i++)
		put(skipped[i]);
	put(2); /* the ABI */
	put(MARK);
	check(!decode(&layout, &event, &regs) && event.sample.regs == &regs && regs.r[7] == MARK,
	      "%s: the register behind is found", what);
	nr_words--;
	check(decode(&layout, &event, &regs), "%s: a word less is too short", what);
	while (--nr_words > 2)
		if (!decode(&layout, &event, &regs) && event.sample.regs)
			check(false, "%s: %zu words are enough", what, nr_words);
}

static void reads(void)
{
	static const uint64_t values[] = {1, 2, 3, 4, 5, 6, 7, 8};

	for (uint64_t format = 0; format < 32; format++) {
		size_t times = (format & 1) + (format >> 1 & 1);
		size_t each = 1 + (format >> 2 & 1) + (format >> 4 & 1);
		const struct jp_perf_attr attr = {.sample_type = JP_PERF_SAMPLE_READ,
						  .read_format = format};
		uint64_t group[16] = {2};
		char what[40];

		snprintf(what, sizeof(what), "counts of format %#x", (unsigned)format);
		if (format & JP_PERF_FORMAT_GROUP)
			sample(what, attr, group, 1 + times + 2 * each);
		else
			sample(what, attr, values, times + each);
	}
}

static void branches(void)
{
	const struct jp_perf_attr attr = {.sample_type = JP_PERF_SAMPLE_BRANCH_STACK};
	struct jp_perf_attr other = attr;
	uint64_t values[16] = {2};

	sample("branches", attr, values, 1 + 6);
	other.branch_sample_type = JP_PERF_BRANCH_HW_INDEX;
	sample("branches with an index", other, values, 1 + 1 + 6);
	other.branch_sample_type |= JP_PERF_BRANCH_COUNTERS;
	sample("branches with an index and counters", other, values, 1 + 1 + 6 + 2);
	values[0] = 0;
	sample("no branches", attr, values, 1);
}

/* The size of raw data leaves it at a multiple of 8 with its own four bytes. */
static void raw(void)
{
	const struct jp_perf_attr attr = {.sample_type = JP_PERF_SAMPLE_RAW};
	static const uint32_t sizes[] = {0, 4, 5, 12, 13, 20};
	static const size_t expected[] = {1, 1, 2, 2, 3, 3};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		uint64_t values[4] = {sizes[i]};
		char what[40];

		snprintf(what, sizeof(what), "%u bytes of raw data", sizes[i]);
		sample(what, attr, values, expected[i]);
	}
}

static const struct jp_perf_attr plain = {.sample_type = JP_PERF_SAMPLE_TID,
					  .flags = JP_PERF_ATTR_SAMPLE_ID_ALL};

static struct jp_perf_layout plain_layout(void)
{
	struct jp_perf_layout layout;

	jp_perf_layout(&plain, EM_X86_64, &layout);
	return layout;
}

static void namespaces(void)
{
	const struct jp_perf_layout layout = plain_layout();
	struct jp_event event;
	struct jp_regs regs;

	begin(JP_PERF_RECORD_NAMESPACES, 0);
	put(1);
	put(7);
	put(MARK); /* the sample id */
	check(!decode(&layout, &event, &regs) && event.type == JP_EVENT_OTHER &&
		      event.namespaces.count == 7,
	      "a record of namespaces has its count");
	check(!event.namespaces.pid && !event.namespaces.mnt, "and no more than it holds");
	begin(JP_PERF_RECORD_NAMESPACES, 0);
	put(1);
	put(7);
	for (uint64_t i = 0; i < 7; i++) {
		put(4);
		put(100 + i);
	}
	put(MARK);
	check(!decode(&layout, &event, &regs) && event.namespaces.pid == 103 &&
		      event.namespaces.mnt == 105,
	      "and the inodes of the pid and mount namespace");
	begin(JP_PERF_RECORD_NAMESPACES, 0);
	put(1);
	put(MARK);
	check(!decode(&layout, &event, &regs) && event.namespaces.count == 0,
	      "which is not its sample id");
}

static void lost(void)
{
	const struct jp_perf_layout layout = plain_layout();
	struct jp_event event;
	struct jp_regs regs;

	for (int bpf = 0; bpf < 2; bpf++) {
		begin(JP_PERF_RECORD_LOST_SAMPLES, bpf ? JP_PERF_MISC_LOST_SAMPLES_BPF : 0);
		put(9);
		put(MARK);
		check(!decode(&layout, &event, &regs) && event.lost.lost == 9 &&
			      event.type == (bpf ? JP_EVENT_OTHER : JP_EVENT_LOST_SAMPLES),
		      "samples that a filter %s", bpf ? "dropped are not lost" : "left are lost");
	}
	begin(JP_PERF_RECORD_LOST, JP_PERF_MISC_LOST_SAMPLES_BPF);
	put(1);
	put(9);
	put(MARK);
	check(!decode(&layout, &event, &regs) && event.type == JP_EVENT_LOST,
	      "a filter drops no other records");
}

/* Whose mapping it is: by the mode, or by a pid that no process has. */
static void kernel_maps(void)
{
	static const struct {
		uint32_t pid;
		uint16_t mode;
		bool kernel;
	} table[] = {{1, 1, true},  {1, 2, false},         {1, 3, false}, {1, 4, true},
		     {1, 5, false}, {UINT32_MAX, 2, true}, {0, 2, false}};
	const struct jp_perf_layout layout = plain_layout();
	struct jp_event event;
	struct jp_regs regs;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		begin(JP_PERF_RECORD_MMAP, table[i].mode);
		put(table[i].pid);
		put(UINT64_C(0xfffffffffffff000));
		put(0x2000); /* beyond the end of the address space */
		put(0);
		put('a');
		put(MARK);
		check(!decode(&layout, &event, &regs) == table[i].kernel &&
			      event.kernel_map == table[i].kernel,
		      "pid %d, mode %u: %s", (int)table[i].pid, table[i].mode,
		      table[i].kernel ? "the kernel's" : "a process's");
		words[2] = UINT64_C(0xffffffffffffefff);
		words[3] = 0x1000;
		check(!decode(&layout, &event, &regs), "the last byte that there can be is one");
	}
}

/* An attr as a machine of the other byte order wrote it: each field by its width. Its flags are
 * zero here: test_swap.c tries each. */
static void swapped_attr(void)
{
	static const unsigned char widths[] = {4, 4, 8, 8, 8, 8, 8, 4, 4, 8, 8, 8,
					       8, 4, 4, 8, 4, 2, 2, 4, 4, 8, 8, 8};
	struct jp_perf_attr ours, theirs;
	unsigned char *field = (unsigned char *)&ours, *other = (unsigned char *)&theirs;

	for (size_t i = 0; i < sizeof(ours); i++)
		field[i] = (unsigned char)(i + 1);
	ours.flags = 0;
	for (size_t i = 0; i < sizeof(widths); field += widths[i], other += widths[i++])
		for (size_t byte = 0; byte < widths[i]; byte++)
			other[byte] = field[widths[i] - 1 - byte];
	jp_perf_swap_attr(&theirs);
	check(other == (unsigned char *)(&theirs + 1) && !memcmp(&theirs, &ours, sizeof(ours)),
	      "swapped: each field of an attr");
}

/* Two events of one file: samples are told apart by their id alone where other records have none.
 */
static void without_sample_id(void)
{
	const uint64_t ids[] = {71, 72};
	struct jp_perf_attrs attrs = {0};
	struct jp_perf_record *record;

	for (int i = 0; i < 2; i++) {
		const struct jp_perf_attr attr = {
			.sample_type = JP_PERF_SAMPLE_IDENTIFIER | JP_PERF_SAMPLE_IP |
				       (i ? JP_PERF_SAMPLE_PERIOD : 0),
			.sample_period = 1000,
		};

		check(!jp_perf_attrs_add(&attrs, &attr, sizeof(attr), &ids[i], 1), "event %d", i);
		check(attrs.all[i].asked.period == (i ? 1000 : 0),
		      "event %d: a period only where samples tell theirs", i);
		record = begin(JP_PERF_RECORD_SAMPLE, 0);
		put(ids[i]);
		put(0x1000);
		record->size = (uint16_t)(nr_words * sizeof(uint64_t));
		check(jp_perf_attrs_find(&attrs, record) == i, "a sample of event %d", i);
	}
	record = begin(JP_PERF_RECORD_COMM, 0);
	put(ids[1]); /* a process and a thread, and no id */
	record->size = (uint16_t)(nr_words * sizeof(uint64_t));
	check(jp_perf_attrs_find(&attrs, record) == 0, "other records are read as the first's");
	jp_perf_attrs_free(&attrs);
}

int main(void)
{
	without_sample_id();
	reads();
	branches();
	raw();
	namespaces();
	lost();
	kernel_maps();
	swapped_attr();
	return check_done();
}
