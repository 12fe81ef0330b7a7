// SPDX-License-Identifier: GPL-2.0-only
/* Tests checking .eh_frame before libdw reads it: each bound from both sides. */
#include "harness/format/elf/cfi_check.h"
#include "harness/selftest/support/check.h"

enum { ADDR = 0x5000, INDEX = 0x4000 };

static unsigned char frame[1 << 14];
static size_t frame_size, record_at;

static void add_bytes(const void *bytes, size_t size)
{
	memcpy(frame + frame_size, bytes, size);
	frame_size += size;
}

static void add8(uint8_t value)
{
	add_bytes(&value, 1);
}

static void add32(uint32_t value)
{
	add_bytes(&value, 4);
}

/* Begins a record; end_record() sets its length. */
static void begin_record(uint32_t id)
{
	record_at = frame_size;
	add32(0);
	add32(id);
}

static void end_record(void)
{
	uint32_t length = (uint32_t)(frame_size - record_at - 4);

	memcpy(frame + record_at, &length, 4);
}

/* Begins a CIE that has @data after its return address register. */
static void begin_cie(uint8_t version, const char *text, const char *data, size_t size)
{
	frame_size = 0;
	begin_record(0);
	add8(version);
	add_bytes(text, strlen(text) + 1);
	add8(1);
	add8(0x78);
	add8(16);
	add_bytes(data, size);
}

/* Begins an FDE of the CIE at 0, up to its instructions. */
static void begin_fde(void)
{
	begin_record((uint32_t)frame_size + 4);
	add32(0x1000);
	add32(0x10);
	add8(0); /* no augmentation data */
}

static void add_usual_cie(void)
{
	begin_cie(1, "zR", "\1\x1b", 2);
	end_record();
}

static void add_empty_fde(void)
{
	begin_fde();
	end_record();
}

static bool is_sound(struct jp_cfi_sound *soundness)
{
	const struct jp_cfi_section section = {frame, frame_size, ADDR}, no_index = {NULL, 0, 0};
	struct jp_error err;

	return !jp_cfi_check(&section, &no_index, soundness, &err);
}

/* Returns whether the check accepts a usual CIE and an FDE with @instructions. */
static bool accepts(const void *instructions, size_t size, struct jp_cfi_sound *soundness)
{
	add_usual_cie();
	begin_fde();
	add_bytes(instructions, size);
	end_record();
	return is_sound(soundness);
}

#define ACCEPTS(text) accepts(text, sizeof(text) - 1, &soundness)

TEST(operands)
{
	static const char *const valid_programs[] = {"\x02\1", "\x03\1\1", "\x04\1\1\1\1",
						     "\x0e\1", "\x13\1",   "\x06\1",
						     "\x07\1", "\x08\1",   "\x0d\1"};
	static const char *const two[] = {"\x05\1\1", "\x09\1\1", "\x0c\1\1", "\x11\1\1",
					  "\x12\1\1", "\x14\1\1", "\x15\1\1", "\x2f\1\1"};
	struct jp_cfi_sound soundness;

	check(ACCEPTS("") && ACCEPTS("\0\0\x41\xc1"),
	      "no instructions, and those without an operand, are sound");
	for (size_t i = 0; i < sizeof(valid_programs) / sizeof(*valid_programs); i++)
		check(accepts(valid_programs[i], strlen(valid_programs[i]), &soundness) &&
			      !accepts(valid_programs[i], strlen(valid_programs[i]) - 1,
				       &soundness),
		      "instruction %#x needs its operand", valid_programs[i][0]);
	for (size_t i = 0; i < sizeof(two) / sizeof(*two); i++)
		check(accepts(two[i], 3, &soundness) && !accepts(two[i], 2, &soundness),
		      "instruction %#x needs both operands", two[i][0]);
	check(ACCEPTS("\x07\xff\1") && !ACCEPTS("\x07\x80\2"), "registers up to 255 are sound");
	check(ACCEPTS("\x07\x80\x80\0") && ACCEPTS("\x0e\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"),
	      "numbers of up to ten bytes are sound");
	check(!ACCEPTS("\x0e\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"), "eleven bytes are not");
	check(ACCEPTS("\x80\1") && !ACCEPTS("\x80") && ACCEPTS("\x80\x80\1"), "offset: an operand");
	check(!ACCEPTS("\x01\1\1\1\1\1\1\1\1") && !ACCEPTS("\x17") && !ACCEPTS("\x3f"),
	      "instructions that no compiler writes are refused");
	check(ACCEPTS("\x0f\1\0") && !ACCEPTS("\x0f\2\0") && ACCEPTS("\x10\1\1\0") &&
		      ACCEPTS("\x16\1\0"),
	      "blocks must end within the record");
}

TEST(limits)
{
	unsigned char block[3 + 1025] = {0x0f, 0x80, 0x08}; /* 1024 */
	unsigned char states[66];
	struct jp_cfi_sound soundness;

	check(accepts(block, 3 + 1024, &soundness), "an expression of 1024 bytes is sound");
	block[1] = 0x81;
	check(!accepts(block, 3 + 1025, &soundness), "an expression of 1025 bytes is not");
	memset(states, 0x0a, sizeof(states));
	check(accepts(states, 64, &soundness) && !accepts(states, 65, &soundness),
	      "at most 64 states can be remembered");
	states[0] = 0x0b; /* a restore without a remembered state */
	check(accepts(states, 65, &soundness) && !accepts(states, 66, &soundness),
	      "restoring without a remembered state frees nothing");
	states[0] = 0x0a;
	states[1] = 0x0b;
	check(accepts(states, 66, &soundness), "restoring frees a remembered state");
}

TEST(functions)
{
	struct jp_cfi_sound soundness;

	check(ACCEPTS("") && !soundness.functions && !soundness.framed,
	      "a function without instructions does not count");
	check(ACCEPTS("\x0e\x10") && soundness.functions == 1,
	      "a function whose last instruction moves the stack counts");
	check(ACCEPTS("\x0e\x10\0\0") && soundness.functions == 1 && !soundness.framed,
	      "a function that moves the stack counts");
	check(ACCEPTS("\x0d\6\0\0") && soundness.functions == 1 && soundness.framed == 1,
	      "a function with a frame pointer is framed");
	check(ACCEPTS("\x0c\6\x10\0") && soundness.functions == 1 && soundness.framed == 1,
	      "a function that defines its CFA by the frame pointer is framed");
	check(ACCEPTS("\x86\2\0\0") && !soundness.functions, "saving a register does not count");
}

TEST(cies)
{
	static const struct {
		uint8_t version;
		const char *text, *data;
		size_t size;
		bool is_valid;
	} table[] = {
		{1, "zR", "\1\x1b", 2, true},
		{3, "zR", "\1\x1b", 2, true},
		{2, "zR", "\1\x1b", 2, false},
		{4, "zR", "\1\x1b", 2, false},
		{1, "zR", "\1\x5b", 2, false},
		{1, "zR", "\1\x9b", 2, false},
		{1, "zR", "\1\x3b", 2, true},
		{1, "zR", "\1\x03", 2, true},
		{1, "zR", "\1\x01", 2, false},
		{1, "zR", "\0\x1b", 2, false},
		{1, "zRS", "\1\x1b", 2, true},
		{1, "zRB", "\1\x1b", 2, true},
		{1, "zRX", "\1\x1b", 2, false},
		{1, "R", "\x1b", 1, false},
		{1, "", "", 0, true},
		{1, "zLR", "\2\x1b\x1b", 3, true},
		{1, "zLR", "\1\x1b", 2, false},
		{1, "zPR", "\6\x1b\1\2\3\4\x1b", 7, true},
		{1, "zPR", "\5\x1b\1\2\3\4", 6, false},
		{1, "zPR", "\6\x50\1\2\3\4\x1b", 7, false},
		{1, "zPR", "\6\x01\1\2\3\4\x1b", 7, false},
		{1, "zPR", "\4\x02\1\2\x1b", 5, true},
		{1, "zPR", "\4\x0a\1\2\x1b", 5, true},
		{1, "zPR", "\12\x04\1\2\3\4\5\6\7\10\x1b", 11, true},
		{1, "zPR", "\12\x0c\1\2\3\4\5\6\7\10\x1b", 11, true},
	};
	struct jp_cfi_sound soundness;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		begin_cie(table[i].version, table[i].text, table[i].data, table[i].size);
		end_record();
		check(is_sound(&soundness) == table[i].is_valid,
		      "CIE %zu, version %u, \"%s\", is judged right", i, table[i].version,
		      table[i].text);
	}
}

TEST(records)
{
	struct jp_cfi_sound soundness;
	size_t second;

	frame_size = 0;
	check(is_sound(&soundness), "an empty section is sound");
	add32(0);
	check(is_sound(&soundness), "a terminator alone is sound");
	add_usual_cie();
	add_empty_fde();
	add32(0);
	second = frame_size;
	begin_record((uint32_t)frame_size + 4);
	add32(1);
	add32(1);
	add8(0);
	end_record();
	check(is_sound(&soundness), "records behind a terminator are sound");
	frame[second + 4] = (unsigned char)(second + 4 - 17);
	check(!is_sound(&soundness), "an FDE that points into a record is refused");
	add_usual_cie();
	second = frame_size;
	add_empty_fde();
	begin_record((uint32_t)(frame_size + 4 - second));
	add32(1);
	add32(1);
	add8(0);
	end_record();
	check(!is_sound(&soundness), "an FDE that points to an FDE is refused");
	add_usual_cie();
	for (size_t nr_omitted = 1; nr_omitted < frame_size - 3; nr_omitted++) {
		const struct jp_cfi_section section = {frame, frame_size - nr_omitted, ADDR},
					    no_index = {0};
		struct jp_error err;

		if (!jp_cfi_check(&section, &no_index, &soundness, &err))
			check(false, "a section cut by %zu bytes is refused", nr_omitted);
	}
	add_usual_cie();
	begin_record((uint32_t)frame_size + 4 + 1);
	end_record();
	check(!is_sound(&soundness), "an FDE that points before the section is refused");
}

/* Returns whether .eh_frame_hdr of @size @bytes is sound. */
static bool is_sound_index(const unsigned char *bytes, size_t size)
{
	const struct jp_cfi_section section = {frame, frame_size, ADDR},
				    index = {bytes, size, INDEX};
	struct jp_cfi_sound soundness;
	struct jp_error err;

	return !jp_cfi_check(&section, &index, &soundness, &err) && soundness.index;
}

TEST(index_bounds)
{
	struct {
		unsigned char head[4];
		int32_t frame;
		uint32_t count;
		int32_t entries[2][2];
	} index = {{1, 0x1b, 3, 0x3b}, 0, 2, {{0}}};
	const unsigned char *bytes = (const unsigned char *)&index;

	add_usual_cie();
	for (int i = 0; i < 2; i++) {
		index.entries[i][0] = -0x1000 + i;
		index.entries[i][1] = (int32_t)(ADDR + frame_size - INDEX);
		add_empty_fde();
	}
	check(is_sound_index(bytes, sizeof(index)), "an index of two entries is sound");
	check(!is_sound_index(bytes, sizeof(index) - 1), "an index with a cut entry is not");
	index.count = 1;
	check(is_sound_index(bytes, 20) && !is_sound_index(bytes, 19) && !is_sound_index(bytes, 12),
	      "an index of one entry must be whole");
	index.count = 0;
	check(!is_sound_index(bytes, sizeof(index)), "an index without entries is not sound");
	index.count = 2;
	index.entries[1][0] = -0x1000;
	check(is_sound_index(bytes, sizeof(index)), "two entries of one address are sound");
	index.entries[1][0]--;
	check(!is_sound_index(bytes, sizeof(index)), "entries out of order are not");
	index.entries[1][0] = 5;
	index.entries[1][1]++;
	check(!is_sound_index(bytes, sizeof(index)), "an entry that points into a record is not");
	index.entries[1][1] = (int32_t)(ADDR + frame_size - INDEX);
	check(!is_sound_index(bytes, sizeof(index)), "an entry behind the section is not");
	index.entries[1][1] = index.entries[0][1];
	index.head[3] = 0x3c;
	check(!is_sound_index(bytes, sizeof(index)) && !is_sound_index(NULL, 0),
	      "other encodings and no index are not");
}
