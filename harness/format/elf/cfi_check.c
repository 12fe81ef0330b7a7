// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/elf/cfi_check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_REGISTER = 256,  /* limit of register numbers: libdw's state has an entry for each */
	MAX_REMEMBERED = 64, /* limit of remembered states, each a copy of that state */
	MAX_EXPRESSION = 1024,
};

/* Bytes that are read from the front. Reading past the end sets @is_invalid and returns zeros. */
struct span {
	const unsigned char *pos, *end;
	bool is_invalid;
};

struct cie {
	bool has_data;     /* augmentation "z": a length precedes the augmentation data */
	uint8_t pointer;   /* DW_EH_PE encoding of code addresses in its FDEs */
	unsigned remember; /* number of states that the CIE's own instructions remember */
};

struct check {
	const struct jp_cfi_section *frame;
	struct jp_cfi_sound *sound;
	unsigned char *starts; /* one bit per byte of .eh_frame, set where a record starts */
};

static inline void skip_bytes(struct span *span, uint64_t count)
{
	if (count > (uint64_t)(span->end - span->pos)) {
		span->is_invalid = true;
		span->pos = span->end;
	} else {
		span->pos += count;
	}
}

static uint32_t read_word(struct span *span)
{
	const unsigned char *from = span->pos;
	uint32_t value = 0;

	skip_bytes(span, sizeof(value));
	if (!span->is_invalid)
		memcpy(&value, from, sizeof(value));
	return value;
}

static inline uint64_t read_byte(struct span *span)
{
	if (span->pos < span->end)
		return *span->pos++;
	span->is_invalid = true;
	return 0;
}

static uint64_t read_uleb_slowly(struct span *span)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint64_t next = read_byte(span);

		value |= (next & 0x7f) << shift;
		if (!(next & 0x80))
			return value;
	}
	span->is_invalid = true;
	return 0;
}

/* Fast path: nearly all numbers have one byte, and a large program has millions of them. */
static inline uint64_t read_uleb(struct span *span)
{
	if (span->pos < span->end && *span->pos < 0x80)
		return *span->pos++;
	return read_uleb_slowly(span);
}

/* Returns the bytes of a value in a DW_EH_PE encoding, or 0 for encodings that .eh_frame never
 * has. */
static size_t get_encoded_size(uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case 0x00: /* absptr */
	case 0x04: /* udata8 */
	case 0x0c: /* sdata8 */
		return 8;
	case 0x02: /* udata2 */
	case 0x0a: /* sdata2 */
		return 2;
	case 0x03: /* udata4 */
	case 0x0b: /* sdata4 */
		return 4;
	default:
		return 0;
	}
}

/* Skips the most frequent instructions, whose operands need no check. */
static const unsigned char *skip_common_instructions(const unsigned char *pos,
						     const unsigned char *end, bool *moves)
{
	while (end - pos >= 2) {
		uint8_t op = *pos;

		if (op == 0x00 || (op & 0xc0) == 0x40 || (op & 0xc0) == 0xc0)
			pos++; /* nop, advance_loc, restore */
		else if ((op == 0x0e || (op & 0xc0) == 0x80) && pos[1] < 0x80)
			pos += 2, *moves |= op == 0x0e; /* def_cfa_offset, offset */
		else
			break;
	}
	return pos;
}

/* Operands of the instructions whose first byte contains none. 1, 2, 4: that many bytes; u: a
 * LEB128 number; r: a register; b: a block of bytes; +: remembers a state; -: restores one. NULL:
 * set_loc and unknown instructions, which no compiler writes. */
static const char *const operands[0x40] = {
	[0x00] = "",   /* nop */
	[0x02] = "1",  /* advance_loc1 */
	[0x03] = "2",  /* advance_loc2 */
	[0x04] = "4",  /* advance_loc4 */
	[0x05] = "ru", /* offset_extended */
	[0x06] = "r",  /* restore_extended */
	[0x07] = "r",  /* undefined */
	[0x08] = "r",  /* same_value */
	[0x09] = "rr", /* register */
	[0x0a] = "+",  /* remember_state */
	[0x0b] = "-",  /* restore_state */
	[0x0c] = "ru", /* def_cfa */
	[0x0d] = "r",  /* def_cfa_register */
	[0x0e] = "u",  /* def_cfa_offset */
	[0x0f] = "b",  /* def_cfa_expression */
	[0x10] = "rb", /* expression */
	[0x11] = "ru", /* offset_extended_sf */
	[0x12] = "ru", /* def_cfa_sf */
	[0x13] = "u",  /* def_cfa_offset_sf */
	[0x14] = "ru", /* val_offset */
	[0x15] = "ru", /* val_offset_sf */
	[0x16] = "rb", /* val_expression */
	[0x2d] = "",   /* GNU_window_save, AARCH64_negate_ra_state */
	[0x2e] = "u",  /* GNU_args_size */
	[0x2f] = "ru", /* GNU_negative_offset_extended */
};

static void check_operand(struct span *span, char kind, unsigned *remembered)
{
	uint64_t size;

	switch (kind) {
	case 'u':
		read_uleb(span);
		break;
	case 'r':
		if (read_uleb(span) >= MAX_REGISTER)
			span->is_invalid = true;
		break;
	case 'b':
		size = read_uleb(span);
		if (size > MAX_EXPRESSION)
			span->is_invalid = true;
		skip_bytes(span, size);
		break;
	case '+':
		if (++*remembered > MAX_REMEMBERED)
			span->is_invalid = true;
		break;
	case '-':
		*remembered -= *remembered > 0;
		break;
	default:
		skip_bytes(span, kind - '0');
	}
}

/* Checks the instructions of one CIE or FDE. @remembered: number of states remembered so far. */
static void check_instructions(struct span *span, unsigned *remembered,
			       struct jp_cfi_sound *checked)
{
	bool moves = false, is_framed = false;

	while (!span->is_invalid && span->pos < span->end) {
		const char *kinds;
		uint8_t op;

		span->pos = skip_common_instructions(span->pos, span->end, &moves);
		if (span->pos == span->end)
			break;
		op = *span->pos++;
		is_framed |= op == 0x0c || op == 0x0d; /* def_cfa, def_cfa_register */
		/* advance_loc and restore contain their operand in the same byte; offset has a
		 * second one after it. */
		kinds = op < 0x40 ? operands[op] : (op & 0xc0) == 0x80 ? "u" : "";
		if (!kinds)
			span->is_invalid = true;
		for (; kinds && *kinds; kinds++)
			check_operand(span, *kinds, remembered);
	}
	checked->functions += moves || is_framed;
	checked->framed += is_framed;
}

static void read_cie(struct span span, struct cie *cie, bool *is_invalid)
{
	const unsigned char *text;
	struct span data = {0};
	uint8_t version = read_byte(&span), encoding;

	*cie = (struct cie){0};
	text = span.pos;
	while (read_byte(&span))
		;
	if (version != 1 && version != 3)
		span.is_invalid = true;
	read_uleb(&span); /* code alignment */
	read_uleb(&span); /* data alignment */
	if (version == 1)
		skip_bytes(&span, 1); /* return address register */
	else
		check_operand(&span, 'r', NULL);
	if (!span.is_invalid && *text == 'z') {
		uint64_t size = read_uleb(&span);

		cie->has_data = true;
		data.pos = span.pos;
		skip_bytes(&span, size);
		data.end = span.pos;
		text++;
	}
	for (; !span.is_invalid && *text; text++) {
		switch (*text) {
		case 'L':
			skip_bytes(&data, 1);
			break;
		case 'P':
			encoding = read_byte(&data);
			if (!get_encoded_size(encoding) || (encoding & 0x70) == 0x50)
				data.is_invalid = true;
			skip_bytes(&data, get_encoded_size(encoding));
			break;
		case 'R':
			cie->pointer = read_byte(&data);
			break;
		case 'S': /* signal frame */
		case 'B': /* arm64: signed with key B */
			break;
		default:
			data.is_invalid = true;
			break;
		}
		if (data.is_invalid || !cie->has_data)
			span.is_invalid = true;
	}
	/* Allow absolute, pc-relative and data-relative encodings, but none that is indirect. */
	if (!get_encoded_size(cie->pointer) ||
	    ((cie->pointer & 0xf0) != 0 && (cie->pointer & 0xf0) != 0x10 &&
	     (cie->pointer & 0xf0) != 0x30))
		span.is_invalid = true;
	check_instructions(&span, &cie->remember, &(struct jp_cfi_sound){false});
	*is_invalid = span.is_invalid;
}

static void read_fde(struct span span, const struct cie *cie, struct jp_cfi_sound *checked,
		     bool *is_invalid)
{
	unsigned remembered = cie->remember;

	/* Address and size of the code. */
	skip_bytes(&span, 2 * get_encoded_size(cie->pointer));
	if (cie->has_data)
		skip_bytes(&span, read_uleb(&span));
	check_instructions(&span, &remembered, checked);
	*is_invalid = span.is_invalid;
}

static void mark_start(struct check *check, size_t offset)
{
	check->starts[offset / 8] |= 1 << offset % 8;
}

static bool is_record_start(const struct check *check, uint64_t offset)
{
	return offset < check->frame->size && check->starts[offset / 8] & 1 << offset % 8;
}

/* Finds the record at @offset of .eh_frame: stores its id and its bytes after the id. Returns false
 * if it is the terminator or malformed. */
static bool find_record(const struct jp_cfi_section *frame, size_t offset, struct span *body,
			uint32_t *id)
{
	struct span section = {frame->bytes + offset, frame->bytes + frame->size, false};
	uint32_t length = read_word(&section);

	/* 0xffffffff would start the 64-bit form, which .eh_frame never has. */
	if (section.is_invalid || length < 4 || length > (size_t)(section.end - section.pos))
		return false;
	body->pos = section.pos;
	body->end = section.pos + length;
	body->is_invalid = false;
	*id = read_word(body);
	return true;
}

static int read_records(struct check *check, struct jp_error *err)
{
	const struct jp_cfi_section *frame = check->frame;
	size_t offset = 0, last = SIZE_MAX;
	struct cie cie = {0};
	struct span body;
	bool is_invalid = false;
	uint32_t id;

	while (frame->size - offset >= 4) {
		uint32_t length;

		memcpy(&length, frame->bytes + offset, 4);
		if (length == 0) { /* terminator; a linker may put more records after it */
			offset += 4;
			continue;
		}
		if (!find_record(frame, offset, &body, &id))
			return jp_fail(err, EINVAL,
				       ".eh_frame+%#zx: a record of %#x bytes; only %#zx bytes are "
				       "left",
				       offset, length, frame->size - offset - 4);
		mark_start(check, offset);
		if (id == 0) {
			last = offset;
			read_cie(body, &cie, &is_invalid);
		} else {
			size_t cie_offset = offset + 4 - id;
			struct span other_span;

			/* Most FDEs directly follow their CIE. For the others, read the CIE
			 * again. */
			if (id > offset + 4 || !is_record_start(check, cie_offset))
				return jp_fail(
					err, EINVAL,
					".eh_frame+%#zx: an FDE whose CIE pointer, %#x bytes back, "
					"leads to no CIE",
					offset, id);
			if (cie_offset != last) {
				if (!find_record(frame, cie_offset, &other_span, &id) || id)
					return jp_fail(err, EINVAL,
						       ".eh_frame+%#zx: an FDE whose CIE pointer "
						       "leads to the FDE at %#zx",
						       offset, cie_offset);
				read_cie(other_span, &cie, &is_invalid);
				last = cie_offset;
			}
			if (!is_invalid)
				read_fde(body, &cie, check->sound, &is_invalid);
		}
		if (is_invalid)
			return jp_fail(err, EINVAL,
				       ".eh_frame+%#zx: a record with an operand, encoding or "
				       "instruction out of bounds",
				       offset);
		offset = body.end - frame->bytes;
	}
	return 0;
}

/* Returns whether .eh_frame_hdr is sound. Only the form that linkers write is accepted: four-byte
 * offsets relative to .eh_frame_hdr. */
static bool is_index_sound(const struct check *check, const struct jp_cfi_section *index)
{
	uint32_t count;
	int64_t before = INT64_MIN;

	if (!index->bytes || index->size < 12 || memcmp(index->bytes, "\x01\x1b\x03\x3b", 4) != 0)
		return false;
	memcpy(&count, index->bytes + 8, 4);
	if (count == 0 || count > (index->size - 12) / 8)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		int32_t entry[2];
		uint64_t offset;

		memcpy(entry, index->bytes + 12 + 8 * (size_t)i, 8);
		offset = index->addr + (int64_t)entry[1] - check->frame->addr;
		if (entry[0] < before || !is_record_start(check, offset))
			return false;
		before = entry[0];
	}
	return true;
}

int jp_cfi_check(const struct jp_cfi_section *frame, const struct jp_cfi_section *index,
		 struct jp_cfi_sound *checked, struct jp_error *err)
{
	struct check check = {
		.frame = frame, .sound = checked, .starts = calloc(1, frame->size / 8 + 1)};
	int ret;

	*checked = (struct jp_cfi_sound){false};
	if (!check.starts)
		return jp_fail(err, ENOMEM, ".eh_frame: out of memory for %zu bytes",
			       frame->size / 8);
	ret = read_records(&check, err);
	if (ret == 0)
		checked->index = is_index_sound(&check, index);
	free(check.starts);
	return ret;
}
