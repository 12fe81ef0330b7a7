// SPDX-License-Identifier: GPL-2.0-only
/* What libdw may see of .eh_frame: each bound from both sides. */
#include "harness/format/elf/cfi_check.h"
#include "harness/selftest/support/check.h"

enum { ADDR = 0x5000, INDEX = 0x4000 };

static unsigned char frame[1 << 14];
static size_t frame_size, record_at;

static void add(const void *bytes, size_t size)
{
	memcpy(frame + frame_size, bytes, size);
	frame_size += size;
}

static void add8(uint8_t value)
{
	add(&value, 1);
}

static void add32(uint32_t value)
{
	add(&value, 4);
}

/* A record whose length end_record() fills in. */
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

/* A CIE of one version and augmentation; what follows the return address register is @data. */
static void cie_of(uint8_t version, const char *text, const char *data, size_t size)
{
	frame_size = 0;
	begin_record(0);
	add8(version);
	add(text, strlen(text) + 1);
	add8(1);
	add8(0x78);
	add8(16);
	add(data, size);
}

/* An FDE of the CIE at 0 up to its instructions. */
static void begin_fde(void)
{
	begin_record((uint32_t)frame_size + 4);
	add32(0x1000);
	add32(0x10);
	add8(0); /* no augmentation data */
}

static void usual_cie(void)
{
	cie_of(1, "zR", "\1\x1b", 2);
	end_record();
}

static void empty_fde(void)
{
	begin_fde();
	end_record();
}

static bool sound(struct jp_cfi_sound *found)
{
	const struct jp_cfi_section section = {frame, frame_size, ADDR}, none = {NULL, 0, 0};
	struct jp_error err;

	return !jp_cfi_check(&section, &none, found, &err);
}

/* Whether an FDE with these instructions behind a usual CIE is sound. */
static bool takes(const void *instructions, size_t size, struct jp_cfi_sound *found)
{
	usual_cie();
	begin_fde();
	add(instructions, size);
	end_record();
	return sound(found);
}

#define TAKES(text) takes(text, sizeof(text) - 1, &found)

static void operands(void)
{
	static const char *const one[] = {"\x02\1", "\x03\1\1", "\x04\1\1\1\1", "\x0e\1", "\x13\1",
					  "\x06\1", "\x07\1",   "\x08\1",       "\x0d\1"};
	static const char *const two[] = {"\x05\1\1", "\x09\1\1", "\x0c\1\1", "\x11\1\1",
					  "\x12\1\1", "\x14\1\1", "\x15\1\1", "\x2f\1\1"};
	struct jp_cfi_sound found;

	check(TAKES("") && TAKES("\0\0\x41\xc1"), "none, and those without an operand");
	for (size_t i = 0; i < sizeof(one) / sizeof(*one); i++)
		check(takes(one[i], strlen(one[i]), &found) &&
			      !takes(one[i], strlen(one[i]) - 1, &found),
		      "instruction %#x needs its operand", one[i][0]);
	for (size_t i = 0; i < sizeof(two) / sizeof(*two); i++)
		check(takes(two[i], 3, &found) && !takes(two[i], 2, &found),
		      "instruction %#x needs both operands", two[i][0]);
	check(TAKES("\x07\xff\1") && !TAKES("\x07\x80\2"), "registers to 255");
	check(TAKES("\x07\x80\x80\0") && TAKES("\x0e\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"),
	      "numbers of several bytes");
	check(!TAKES("\x0e\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"), "but not of eleven");
	check(TAKES("\x80\1") && !TAKES("\x80") && TAKES("\x80\x80\1"), "an offset's operand");
	check(!TAKES("\x01\1\1\1\1\1\1\1\1") && !TAKES("\x17") && !TAKES("\x3f"),
	      "what no compiler writes");
	check(TAKES("\x0f\1\0") && !TAKES("\x0f\2\0") && TAKES("\x10\1\1\0") && TAKES("\x16\1\0"),
	      "blocks end within the record");
}

static void limits(void)
{
	unsigned char block[3 + 1025] = {0x0f, 0x80, 0x08}; /* 1024 */
	unsigned char states[66];
	struct jp_cfi_sound found;

	check(takes(block, 3 + 1024, &found), "an expression of 1024 bytes");
	block[1] = 0x81;
	check(!takes(block, 3 + 1025, &found), "not of 1025");
	memset(states, 0x0a, sizeof(states));
	check(takes(states, 64, &found) && !takes(states, 65, &found), "64 states are remembered");
	states[0] = 0x0b; /* nothing to restore */
	check(takes(states, 65, &found) && !takes(states, 66, &found), "restoring none gives none");
	states[0] = 0x0a;
	states[1] = 0x0b;
	check(takes(states, 66, &found), "restoring gives one back");
}

static void functions(void)
{
	struct jp_cfi_sound found;

	check(TAKES("") && !found.functions && !found.framed, "it moves nothing");
	check(TAKES("\x0e\x10") && found.functions == 1, "its last instruction moves the stack");
	check(TAKES("\x0e\x10\0\0") && found.functions == 1 && !found.framed, "it moves the stack");
	check(TAKES("\x0d\6\0\0") && found.functions == 1 && found.framed == 1, "it has a frame");
	check(TAKES("\x0c\6\x10\0") && found.functions == 1 && found.framed == 1, "or so");
	check(TAKES("\x86\2\0\0") && !found.functions, "it saves a register");
}

static void cies(void)
{
	static const struct {
		uint8_t version;
		const char *text, *data;
		size_t size;
		bool good;
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
	struct jp_cfi_sound found;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		cie_of(table[i].version, table[i].text, table[i].data, table[i].size);
		end_record();
		check(sound(&found) == table[i].good, "CIE %zu, version %u, \"%s\"", i,
		      table[i].version, table[i].text);
	}
}

static void records(void)
{
	struct jp_cfi_sound found;
	size_t second;

	frame_size = 0;
	check(sound(&found), "an empty section");
	add32(0);
	check(sound(&found), "an end");
	usual_cie();
	empty_fde();
	add32(0);
	second = frame_size;
	begin_record((uint32_t)frame_size + 4);
	add32(1);
	add32(1);
	add8(0);
	end_record();
	check(sound(&found), "records behind an end, of a CIE far before");
	frame[second + 4] = (unsigned char)(second + 4 - 17);
	check(!sound(&found), "an FDE's CIE is a record");
	usual_cie();
	second = frame_size;
	empty_fde();
	begin_record((uint32_t)(frame_size + 4 - second));
	add32(1);
	add32(1);
	add8(0);
	end_record();
	check(!sound(&found), "an FDE's CIE is no FDE");
	usual_cie();
	for (size_t less = 1; less < frame_size - 3; less++) {
		const struct jp_cfi_section section = {frame, frame_size - less, ADDR}, none = {0};
		struct jp_error err;

		if (!jp_cfi_check(&section, &none, &found, &err))
			check(false, "it is cut off by %zu bytes", less);
	}
	usual_cie();
	begin_record((uint32_t)frame_size + 4 + 1);
	end_record();
	check(!sound(&found), "a CIE before the section");
}

/* .eh_frame_hdr with one entry for each of two FDEs. */
static bool index_of(const unsigned char *bytes, size_t size)
{
	const struct jp_cfi_section section = {frame, frame_size, ADDR},
				    index = {bytes, size, INDEX};
	struct jp_cfi_sound found;
	struct jp_error err;

	return !jp_cfi_check(&section, &index, &found, &err) && found.index;
}

static void index_bounds(void)
{
	struct {
		unsigned char head[4];
		int32_t frame;
		uint32_t count;
		int32_t entries[2][2];
	} index = {{1, 0x1b, 3, 0x3b}, 0, 2, {{0}}};
	const unsigned char *bytes = (const unsigned char *)&index;

	usual_cie();
	for (int i = 0; i < 2; i++) {
		index.entries[i][0] = -0x1000 + i;
		index.entries[i][1] = (int32_t)(ADDR + frame_size - INDEX);
		empty_fde();
	}
	check(index_of(bytes, sizeof(index)), "two entries");
	check(!index_of(bytes, sizeof(index) - 1), "one of which is cut off");
	index.count = 1;
	check(index_of(bytes, 20) && !index_of(bytes, 19) && !index_of(bytes, 12), "one entry");
	index.count = 0;
	check(!index_of(bytes, sizeof(index)), "none");
	index.count = 2;
	index.entries[1][0] = -0x1000;
	check(index_of(bytes, sizeof(index)), "two of one address");
	index.entries[1][0]--;
	check(!index_of(bytes, sizeof(index)), "out of order");
	index.entries[1][0] = 5;
	index.entries[1][1]++;
	check(!index_of(bytes, sizeof(index)), "an entry leads to a record");
	index.entries[1][1] = (int32_t)(ADDR + frame_size - INDEX);
	check(!index_of(bytes, sizeof(index)), "within the section");
	index.entries[1][1] = index.entries[0][1];
	index.head[3] = 0x3c;
	check(!index_of(bytes, sizeof(index)) && !index_of(NULL, 0), "no other form");
}

int main(void)
{
	operands();
	limits();
	functions();
	cies();
	records();
	index_bounds();
	return check_done();
}
