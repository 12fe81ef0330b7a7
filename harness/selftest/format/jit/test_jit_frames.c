// SPDX-License-Identifier: GPL-2.0-only
/* Call frame information of many functions made into one: which records are taken over, that each
 * leads to its function, and that a function with others goes without. */
#include "harness/format/elf/cfi_check.h"
#include "harness/format/jit/jit_frames.h"
#include "harness/selftest/support/check.h"

enum { SIZE = 0x20, FRAME = 0x5000, INDEX = 0x4000 };

/* One function's tables, as if they lay behind its code. */
static struct jp_bytes tables;

/* The record that begins at @start ends here. */
static void ends(size_t start)
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
	ends(start);
	return start;
}

/* Of [@from, @from + @size) of the function, whose tables begin behind SIZE bytes. */
static void put_fde(size_t cie, int64_t from, uint32_t size)
{
	size_t start = tables.size;

	jp_bytes_add32(&tables, 0);
	jp_bytes_add32(&tables, start + 4 - cie);
	jp_bytes_add32(&tables, (uint32_t)(from - (int64_t)(SIZE + tables.size)));
	jp_bytes_add32(&tables, size);
	jp_bytes_add8(&tables, 0);
	ends(start);
}

static size_t begin(void)
{
	tables.size = 0;
	return put_cie(1, "zR", 3, "\x10\1\x1b", 3);
}

static void add(struct jp_jit_frames *frames, uint64_t offset)
{
	const struct jp_jit_function function = {.size = SIZE,
						 .offset = offset,
						 .eh_frame = tables.bytes,
						 .eh_frame_size = tables.size};

	jp_jit_frames_add(frames, &function, FRAME);
}

/* Whether the tables are taken for a function; else nothing of them is left. */
static void taken(bool good, const char *what)
{
	struct jp_jit_frames frames = {0};

	add(&frames, 0x1000);
	check(good ? !frames.bad && frames.count == 1
		   : frames.bad == 1 && !frames.count && !frames.frame.size,
	      "%s: %s", what, good ? "taken" : "left out");
	jp_jit_frames_free(&frames);
}

static void cies(void)
{
	static const struct {
		const char *what;
		uint8_t version;
		const char *text;
		size_t text_size;
		const char *data; /* return column, length, the augmentation's data */
		size_t size;
		bool good;
	} table[] = {
		{"the usual one", 1, "zR", 3, "\x10\1\x1b", 3, true},
		{"version 3", 3, "zR", 3, "\x10\1\x1b", 3, true},
		{"a column of two bytes", 3, "zR", 3, "\x90\0\1\x1b", 4, true},
		{"a signal's", 1, "zRS", 4, "\x10\1\x1b", 3, true},
		{"language data that is left out", 1, "zLR", 4, "\x10\2\xff\x1b", 4, true},
		{"language data", 1, "zLR", 4, "\x10\2\x1b\x1b", 4, false},
		{"a personality", 1, "zPR", 4, "\x10\6\x1b\1\1\1\1\x1b", 8, false},
		{"absolute addresses", 1, "zR", 3, "\x10\1\0", 3, false},
		{"addresses of two bytes", 1, "zR", 3, "\x10\1\x1a", 3, false},
		{"no data", 1, "", 1, "\x10", 1, false},
		{"nothing of addresses", 1, "z", 2, "\x10\0", 2, false},
		{"version 4", 4, "zR", 3, "\x10\1\x1b", 3, false},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		size_t cie;

		tables.size = 0;
		cie = put_cie(table[i].version, table[i].text, table[i].text_size, table[i].data,
			      table[i].size);
		put_fde(cie, 0, SIZE);
		taken(table[i].good, table[i].what);
	}
}

static void ranges(void)
{
	size_t cie = begin();

	put_fde(cie, 8, SIZE - 8);
	taken(true, "the end of the code");
	cie = begin();
	put_fde(cie, 8, SIZE - 7);
	taken(false, "a byte more");
	cie = begin();
	put_fde(cie, SIZE, 1);
	taken(false, "behind the code");
	cie = begin();
	put_fde(cie, -8, 8);
	taken(false, "before the code");
	begin();
	taken(false, "no code");
	cie = begin();
	put_fde(cie, 0, 8);
	jp_bytes_add32(&tables, 0);
	put_fde(cie, 8, 8);
	taken(true, "one record, and one behind the end");
	tables.size = 0;
	for (int i = 0; i < 8; i++)
		cie = put_cie(1, "zR", 3, "\x10\1\x1b", 3);
	put_fde(cie, 0, SIZE);
	taken(true, "eight CIEs");
	tables.size = 0;
	for (int i = 0; i < 9; i++)
		cie = put_cie(1, "zR", 3, "\x10\1\x1b", 3);
	put_fde(cie, 0, SIZE);
	taken(false, "nine");
}

static uint32_t word(const struct jp_bytes *bytes, size_t at)
{
	uint32_t value = 0;

	if (at + 4 <= bytes->size)
		memcpy(&value, bytes->bytes + at, 4);
	return value;
}

/* Three functions, not in order, one of them far beyond what 32 bits reach. */
static void whole(void)
{
	static const uint64_t offsets[] = {0x1080, 0x1000, UINT64_C(1) << 33, 0x1040};
	struct jp_jit_frames frames = {0};
	struct jp_cfi_section frame, index;
	struct jp_cfi_sound sound;
	unsigned int good = 0;

	for (size_t i = 0; i < 4; i++) {
		put_fde(begin(), 0, SIZE);
		add(&frames, offsets[i]);
	}
	jp_jit_frames_add(&frames, &(struct jp_jit_function){.size = SIZE, .offset = 8}, FRAME);
	check(frames.count == 3 && frames.bad == 1, "three are taken, one is too far away");
	jp_jit_frames_end(&frames, FRAME, INDEX);
	frame = (struct jp_cfi_section){frames.frame.bytes, frames.frame.size, FRAME};
	index = (struct jp_cfi_section){frames.index.bytes, frames.index.size, INDEX};
	check(!jp_cfi_check(&frame, &index, &sound, NULL) && sound.index,
	      "tables and index are sound");
	check(frames.frame.size == 24 + 3 * 20 + 4, "one CIE is for all: %zu bytes",
	      frames.frame.size);
	for (size_t i = 0; i < 3; i++) {
		size_t entry = 12 + 8 * i, at = INDEX + word(&frames.index, entry + 4) - FRAME;
		uint64_t start = FRAME + at + 8 + (int64_t)(int32_t)word(&frames.frame, at + 8);

		good += word(&frames.index, entry) + INDEX == 0x1000 + 0x40 * i &&
			start == 0x1000 + 0x40 * i && word(&frames.frame, at + 12) == SIZE;
	}
	check(good == 3, "%u entries lead to the records of their functions, in order", good);
	jp_jit_frames_free(&frames);
}

int main(void)
{
	cies();
	ranges();
	whole();
	jp_bytes_free(&tables);
	return check_done();
}
