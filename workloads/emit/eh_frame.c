// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/eh_frame.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Opcodes: DWARF 5, 7.24. Pointer encodings: LSB 5, 10.5.1. */
enum {
	CFA_ADVANCE = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_ADVANCE1 = 0x02,
	CFA_ADVANCE2 = 0x03,
	CFA_ADVANCE4 = 0x04,
	CFA_DEF = 0x0c,
	CFA_NEGATE_RA_STATE = 0x2d, /* of arm64: toggles whether the return address is signed */
	PE_UDATA4 = 0x03,
	PE_PCREL_SDATA4 = 0x1b,
	PE_HDRREL_SDATA4 = 0x3b,
	WORD = sizeof(uintptr_t), /* bytes of a stack word */
	/* Words below the canonical frame address. */
	RETURN_AT = 1,
	BP_AT = -JP_FRAME_RECORD / WORD,
};

struct table {
	unsigned char *out;
	size_t used, capacity;
	size_t base; /* offset of @out from the start of the code */
};

/* Appends @count bytes. Counts bytes beyond the capacity without writing them. */
static void put_bytes(struct table *table, const void *bytes, size_t count)
{
	if (count <= table->capacity && table->used <= table->capacity - count)
		memcpy(table->out + table->used, bytes, count);
	table->used += count;
}

static void put_u8(struct table *table, uint8_t byte)
{
	put_bytes(table, &byte, 1);
}

static void put_u32(struct table *table, uint32_t word)
{
	put_bytes(table, &word, sizeof(word));
}

static void put_uleb(struct table *table, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		put_u8(table, (value & 0x7f) | 0x80);
	put_u8(table, value);
}

/* Appends the distance from the current end of the table to @place, an offset from the start of the
 * code. */
static void put_distance(struct table *table, size_t place)
{
	put_u32(table, place - (table->base + table->used));
}

/* Pads the entry at @start with DW_CFA_nop to 8 bytes and stores its length. */
static void finish_entry(struct table *table, size_t start)
{
	uint32_t length;

	while ((table->used - start) % 8)
		put_u8(table, 0);
	length = table->used - start - sizeof(length);
	if (start + sizeof(length) <= table->capacity)
		memcpy(table->out + start, &length, sizeof(length));
}

/* Appends the rule for the next instructions: the caller's value of @reg is saved @words words
 * below the canonical frame address or, if @saved is false, still in the register. */
static void put_saved_rule(struct table *table, uint8_t reg, uint8_t words, bool saved)
{
	put_u8(table, (saved ? CFA_OFFSET : CFA_RESTORE) | reg);
	if (saved)
		put_uleb(table, words);
}

static size_t put_cie(struct table *table)
{
	size_t start = table->used;

	put_u32(table, 0); /* length */
	put_u32(table, 0); /* a CIE */
	put_u8(table, 1);
	put_bytes(table, "zR", 3);
	put_uleb(table, 1);
	put_u8(table, -WORD & 0x7f); /* data alignment, signed */
	put_u8(table, jp_arch_elf.return_address);
	put_uleb(table, 1);
	put_u8(table, PE_PCREL_SDATA4);
	/* At the first instruction the return address is on top of the stack or in the link
	 * register. */
	put_u8(table, CFA_DEF);
	put_uleb(table, jp_arch_elf.sp);
	put_uleb(table, jp_arch_elf.pushed);
	if (jp_arch_elf.pushed)
		put_saved_rule(table, jp_arch_elf.return_address, RETURN_AT, true);
	finish_entry(table, start);
	return start;
}

static void put_advance(struct table *table, uint32_t distance)
{
	if (distance < 0x40) {
		put_u8(table, CFA_ADVANCE | distance);
	} else if (distance <= UINT8_MAX) {
		put_u8(table, CFA_ADVANCE1);
		put_u8(table, distance);
	} else if (distance <= UINT16_MAX) {
		uint16_t half = distance;

		put_u8(table, CFA_ADVANCE2);
		put_bytes(table, &half, sizeof(half));
	} else {
		put_u8(table, CFA_ADVANCE4);
		put_u32(table, distance);
	}
}

/* How to compute the canonical frame address: @reg + @offset. */
struct rule {
	uint8_t reg;
	bool bp;      /* the caller's bp is saved below the return address */
	bool returns; /* the function itself saved the return address */
	bool signs;   /* the return address is signed */
	uint64_t offset;
};

static int find_rule(const struct jp_truth_insn *insn, struct rule *rule)
{
	uint8_t bp = insn->bp & ~JP_INSN_FLAGS;

	if (bp == JP_BP_OWN)
		*rule = (struct rule){.reg = jp_arch_elf.bp,
				      .bp = true,
				      .offset = BP_AT * WORD - jp_arch_elf.fp_above};
	else if (insn->bp & JP_INSN_MISLED)
		*rule = (struct rule){.reg = jp_arch_elf.sp, .offset = 3 * WORD};
	else if (!insn->align)
		*rule = (struct rule){.reg = jp_arch_elf.sp,
				      .bp = bp == JP_BP_OTHER,
				      .offset = (uint64_t)insn->pre + insn->post +
						jp_arch_elf.pushed};
	else
		return -ENOTSUP; /* sp alone does not lead to the canonical frame address any more
				  */
	rule->returns = !jp_arch_elf.pushed && (bp == JP_BP_OWN || rule->offset);
	rule->signs = insn->bp & JP_INSN_SIGNED;
	return 0;
}

/* Appends a row for each instruction whose rule differs from that of the instruction before. */
static int put_rows(struct table *table, const struct jp_emitted *emitted)
{
	struct rule current = {.reg = jp_arch_elf.sp, .offset = jp_arch_elf.pushed};
	uint32_t row_offset = 0;

	for (uint32_t i = 0; i < emitted->nr_insns; i++) {
		const struct jp_truth_insn *insn = &emitted->insns[i];
		struct rule next;
		int ret = find_rule(insn, &next);

		if (ret)
			return ret;
		next.returns &= insn->offset >= emitted->saved_at;
		if (next.reg == current.reg && next.offset == current.offset &&
		    next.bp == current.bp && next.returns == current.returns &&
		    next.signs == current.signs)
			continue;
		if (insn->offset != row_offset)
			put_advance(table, insn->offset - row_offset);
		row_offset = insn->offset;
		put_u8(table, CFA_DEF);
		put_uleb(table, next.reg);
		put_uleb(table, next.offset);
		if (next.bp != current.bp)
			put_saved_rule(table, jp_arch_elf.bp, BP_AT, next.bp);
		if (next.returns != current.returns)
			put_saved_rule(table, jp_arch_elf.return_address, RETURN_AT, next.returns);
		if (next.signs != current.signs)
			put_u8(table, CFA_NEGATE_RA_STATE);
		current = next;
	}
	return 0;
}

int jp_eh_frame(const struct jp_emitted *emitted, unsigned char *out, size_t capacity,
		size_t *hdr_size)
{
	struct table table = {.out = out, .capacity = capacity, .base = (emitted->size + 7u) & -8u};
	size_t cie = put_cie(&table), fde = table.used, hdr;
	int ret;

	put_u32(&table, 0); /* length */
	put_u32(&table, fde + 4 - cie);
	put_distance(&table, 0);
	put_u32(&table, emitted->size);
	put_uleb(&table, 0);
	ret = put_rows(&table, emitted);
	if (ret)
		return ret;
	finish_entry(&table, fde);
	put_u32(&table, 0); /* the end of .eh_frame */
	put_u32(&table, 0); /* aligns .eh_frame_hdr */
	hdr = table.used;
	put_u8(&table, 1);
	put_u8(&table, PE_PCREL_SDATA4);
	put_u8(&table, PE_UDATA4);
	put_u8(&table, PE_HDRREL_SDATA4);
	put_distance(&table, table.base);
	put_u32(&table, 1);
	put_u32(&table, -(table.base + hdr));
	put_u32(&table, fde - hdr);
	put_u32(&table, 0);
	*hdr_size = table.used - hdr;
	return table.used <= capacity ? (int)table.used : -ENOSPC;
}
