// SPDX-License-Identifier: GPL-2.0-only
/* Tests merging the call frame information of many functions: records are accepted or refused by
 * function, and each points to its function. */
#include "harness/format/elf/cfi_check.h"
#include "harness/format/jit/jit_layout.h"
#include "harness/selftest/support/check.h"

enum { SIZE = 0x20, FRAME = 0x5000, INDEX = 0x4000 };

/* Tables of one function, as if they followed its code. */
static struct jp_bytes tables;

static void end_record(size_t start)
{
	while (tables.size % 4)
		jp_bytes_add8(&tables, 0);
	jp_bytes_set32(&tables, start, tables.size - start - 4);
}

static size_t put_cie(uint8_t version, const char *text, size_t text_size, const void *data,
		      size_t size)
{
	size_t start = tables.size;

	jp_bytes_add32(&tables, 0);
	jp_bytes_add32(&tables, 0);
	jp_bytes_add8(&tables, version);
	jp_bytes_add(&tables, text, text_size);
	jp_bytes_add8(&tables, 1);
	jp_bytes_add8(&tables, 0x78);
	jp_bytes_add(&tables, data, size);
	jp_bytes_add(&tables, "\x0c\x07\x08\x90\x01", 5);
	end_record(start);
	return start;
}

/* Puts an FDE for [@from, @from + @size) of the function, whose tables follow its SIZE bytes. */
static void put_fde(size_t cie, int64_t from, uint32_t size)
{
	size_t start = tables.size;

	jp_bytes_add32(&tables, 0);
	jp_bytes_add32(&tables, start + 4 - cie);
	jp_bytes_add32(&tables, (uint32_t)(from - (int64_t)(SIZE + tables.size)));
	jp_bytes_add32(&tables, size);
	jp_bytes_add8(&tables, 0);
	end_record(start);
}

static size_t begin_tables(void)
{
	tables.size = 0;
	return put_cie(1, "zR", 3, "\x10\1\x1b", 3);
}

static void add_function(struct jp_jit_frames *frames, uint64_t offset)
{
	const struct jp_jit_function function = {.size = SIZE,
						 .offset = offset,
						 .eh_frame = tables.bytes,
						 .eh_frame_size = tables.size};

	jp_jit_frames_add(frames, &function, FRAME);
}

/* Checks that the tables are accepted or, if not @is_right, counted as bad and left out. */
static void check_tables(bool is_right, const char *label)
{
	struct jp_jit_frames frames = {0};

	add_function(&frames, 0x1000);
	check(is_right ? !frames.nr_bad && frames.count == 1
		       : frames.nr_bad == 1 && !frames.count && !frames.frame.size,
	      "%s: %s", label, is_right ? "accepted" : "refused");
	jp_jit_frames_free(&frames);
}

TEST(cies)
{
	static const struct {
		const char *label;
		uint8_t version;
		const char *text;
		size_t text_size;
		const char *data; /* return column, length, the augmentation's data */
		size_t size;
		bool is_valid;
	} table[] = {
		{"the usual one", 1, "zR", 3, "\x10\1\x1b", 3, true},
		{"version 3", 3, "zR", 3, "\x10\1\x1b", 3, true},
		{"a column of two bytes", 3, "zR", 3, "\x90\0\1\x1b", 4, true},
		{"a signal frame", 1, "zRS", 4, "\x10\1\x1b", 3, true},
		{"language data that is omitted", 1, "zLR", 4, "\x10\2\xff\x1b", 4, true},
		{"language data", 1, "zLR", 4, "\x10\2\x1b\x1b", 4, false},
		{"a personality", 1, "zPR", 4, "\x10\6\x1b\1\1\1\1\x1b", 8, false},
		{"absolute addresses", 1, "zR", 3, "\x10\1\0", 3, false},
		{"addresses of two bytes", 1, "zR", 3, "\x10\1\x1a", 3, false},
		{"no augmentation", 1, "", 1, "\x10", 1, false},
		{"no encoding of addresses", 1, "z", 2, "\x10\0", 2, false},
		{"version 4", 4, "zR", 3, "\x10\1\x1b", 3, false},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		size_t cie;

		tables.size = 0;
		cie = put_cie(table[i].version, table[i].text, table[i].text_size, table[i].data,
			      table[i].size);
		put_fde(cie, 0, SIZE);
		check_tables(table[i].is_valid, table[i].label);
	}
}

TEST(ranges)
{
	size_t cie = begin_tables();

	put_fde(cie, 8, SIZE - 8);
	check_tables(true, "a range up to the end of the code");
	cie = begin_tables();
	put_fde(cie, 8, SIZE - 7);
	check_tables(false, "a range beyond the end of the code");
	cie = begin_tables();
	put_fde(cie, SIZE, 1);
	check_tables(false, "a range behind the code");
	cie = begin_tables();
	put_fde(cie, -8, 8);
	check_tables(false, "a range before the code");
	begin_tables();
	check_tables(false, "no FDE");
	cie = begin_tables();
	put_fde(cie, 0, 8);
	jp_bytes_add32(&tables, 0);
	put_fde(cie, 8, 8);
	check_tables(true, "an FDE and another behind the terminator");
	tables.size = 0;
	for (int i = 0; i < 8; i++)
		cie = put_cie(1, "zR", 3, "\x10\1\x1b", 3);
	put_fde(cie, 0, SIZE);
	check_tables(true, "eight CIEs");
	tables.size = 0;
	for (int i = 0; i < 9; i++)
		cie = put_cie(1, "zR", 3, "\x10\1\x1b", 3);
	put_fde(cie, 0, SIZE);
	check_tables(false, "nine CIEs");
}

static uint32_t read_word(const struct jp_bytes *bytes, size_t offset)
{
	uint32_t value = 0;

	if (offset + 4 <= bytes->size)
		memcpy(&value, bytes->bytes + offset, 4);
	return value;
}

TEST(merged_tables)
{
	static const uint64_t offsets[] = {0x1080, 0x1000, UINT64_C(1) << 33, 0x1040};
	struct jp_jit_frames frames = {0};
	struct jp_cfi_section frame, index;
	struct jp_cfi_sound checked;
	unsigned int nr_good = 0;

	for (size_t i = 0; i < 4; i++) {
		put_fde(begin_tables(), 0, SIZE);
		add_function(&frames, offsets[i]);
	}
	jp_jit_frames_add(&frames, &(struct jp_jit_function){.size = SIZE, .offset = 8}, FRAME);
	check(frames.count == 3 && frames.nr_bad == 1,
	      "three are accepted, the distant one refused");
	jp_jit_frames_end(&frames, FRAME, INDEX);
	frame = (struct jp_cfi_section){frames.frame.bytes, frames.frame.size, FRAME};
	index = (struct jp_cfi_section){frames.index.bytes, frames.index.size, INDEX};
	check(!jp_cfi_check(&frame, &index, &checked, NULL) && checked.index,
	      "both tables are sound");
	check(frames.frame.size == 24 + 3 * 20 + 4, "all share one CIE: %zu bytes",
	      frames.frame.size);
	for (size_t i = 0; i < 3; i++) {
		size_t entry = 12 + 8 * i,
		       offset = INDEX + read_word(&frames.index, entry + 4) - FRAME;
		uint64_t start =
			FRAME + offset + 8 + (int64_t)(int32_t)read_word(&frames.frame, offset + 8);

		nr_good += read_word(&frames.index, entry) + INDEX == 0x1000 + 0x40 * i &&
			   start == 0x1000 + 0x40 * i &&
			   read_word(&frames.frame, offset + 12) == SIZE;
	}
	check(nr_good == 3, "%u index entries point to their functions, in order", nr_good);
	jp_jit_frames_free(&frames);
	jp_bytes_free(&tables);
}
