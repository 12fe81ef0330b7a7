// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/unwind/cfi.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/page.h"
#include "harness/base/shortage.h"
#include "harness/model/unwind/cfi_rows.h"
#include "harness/format/elf/elf_file.h"
#include "harness/model/machine/machine.h"

enum {
	MAX_OPS = 256, /* largest number of operations in an expression */
};

struct jp_cfi {
	const struct jp_machine *machine;
	struct jp_elf_image image;
	Elf *elf;
	Dwarf_CFI *dwarf;
	struct jp_cfi_rows rows;
};

_Static_assert((int)JP_OP_ROT == DW_OP_rot && (int)JP_OP_PLUS == DW_OP_plus &&
		       (int)JP_OP_JUMP == DW_OP_skip && (int)JP_OP_CFA == DW_OP_call_frame_cfa,
	       "the numbers are DWARF's");

/* Translates a DWARF operation. Returns false if call frames do not use it. */
static bool translate_op(const Dwarf_Op *source, struct jp_cfi_op *target)
{
	*target = (struct jp_cfi_op){.kind = source->atom, .value = source->number};
	switch (source->atom) {
	case DW_OP_dup ... DW_OP_drop:
	case DW_OP_pick ... DW_OP_rot:
	case DW_OP_abs ... DW_OP_plus:
	case DW_OP_shl ... DW_OP_skip:
	case DW_OP_call_frame_cfa:
		return true; /* @target has the same operation number as @source */
	case DW_OP_lit0 ... DW_OP_lit31:
		target->kind = JP_OP_PUSH;
		target->value = source->atom - DW_OP_lit0;
		return true;
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		target->kind = JP_OP_PUSH;
		return true;
	case DW_OP_breg0 ... DW_OP_breg31:
		target->kind = JP_OP_REG;
		target->reg = source->atom - DW_OP_breg0;
		return true;
	case DW_OP_bregx:
		if (source->number >= JP_REGS)
			return false;
		target->kind = JP_OP_REG;
		target->reg = source->number;
		target->value = source->number2;
		return true;
	case DW_OP_over:
		target->kind = JP_OP_PICK;
		target->value = 1;
		return true;
	case DW_OP_deref:
		target->kind = JP_OP_LOAD;
		target->value = 8;
		return true;
	case DW_OP_deref_size:
		target->kind = JP_OP_LOAD;
		return source->number >= 1 && source->number <= 8;
	default:
		return false;
	}
}

/* Converts the byte offsets of jumps to indexes of operations; @position: new index of each of
 * @source. */
static bool link_jumps(struct jp_cfi_op *ops, const size_t *position, const Dwarf_Op *source,
		       size_t count)
{
	for (size_t i = 0; i < count; i++) {
		/* The operand has two bytes and is relative to the next operation. */
		int64_t target = (int64_t)source[i].offset + 3 + (int16_t)source[i].number;
		size_t to;

		if (source[i].atom != DW_OP_skip && source[i].atom != DW_OP_bra)
			continue;
		for (to = 0; to < count && (int64_t)source[to].offset != target; to++)
			;
		/* A jump into an operand or before the start is invalid; a jump after the last
		 * operation ends the expression. */
		if (to == count && target <= (int64_t)source[count - 1].offset)
			return false;
		ops[position[i]].value = position[to];
	}
	return true;
}

/* Returns the index of the added expression, or -1 if an operation is unknown. */
static int32_t add_expression(struct jp_cfi_rows *rows, const Dwarf_Op *source, size_t count)
{
	struct jp_cfi_op ops[2 * MAX_OPS];
	size_t position[MAX_OPS + 1], nr_ops = 0;

	if (count > MAX_OPS)
		return -1;
	for (size_t i = 0; i < count; i++) {
		position[i] = nr_ops;
		if (source[i].atom == DW_OP_plus_uconst) {
			ops[nr_ops++] = (struct jp_cfi_op){JP_OP_PUSH, 0, source[i].number};
			ops[nr_ops++] = (struct jp_cfi_op){.kind = JP_OP_PLUS};
		} else if (source[i].atom != DW_OP_nop &&
			   !translate_op(&source[i], &ops[nr_ops++])) {
			return -1;
		}
	}
	position[count] = nr_ops;
	if (!link_jumps(ops, position, source, count))
		return -1;
	return jp_cfi_rows_add_expression(rows, ops, nr_ops);
}

static bool fits_32_bits(uint64_t number)
{
	return (int64_t)number >= INT32_MIN && (int64_t)number <= INT32_MAX;
}

/* Converts libdw's description of a location, or of a @value, to a rule. */
static struct jp_cfi_rule make_rule(struct jp_cfi_rows *rows, const Dwarf_Op *ops, size_t count,
				    bool value)
{
	struct jp_cfi_rule rule = {.kind = value ? JP_RULE_CFA : JP_RULE_AT_CFA};
	struct jp_cfi_op op;

	if (count == 1 && ops[0].atom == DW_OP_call_frame_cfa)
		return rule;
	if (count == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_plus_uconst &&
	    fits_32_bits(ops[1].number)) {
		rule.offset = ops[1].number;
		return rule;
	}
	if (count == 1 && value && translate_op(&ops[0], &op) && op.kind == JP_OP_REG &&
	    fits_32_bits(op.value)) {
		rule.kind = JP_RULE_REG;
		rule.reg = op.reg;
		rule.offset = op.value;
		return rule;
	}
	rule.kind = value ? JP_RULE_EXPR : JP_RULE_AT_EXPR;
	rule.offset = add_expression(rows, ops, count);
	if (rule.offset < 0)
		rule.kind = JP_RULE_UNKNOWN;
	return rule;
}

static struct jp_cfi_rule register_rule(struct jp_cfi_rows *rows, Dwarf_Frame *frame, int reg)
{
	struct jp_cfi_rule rule = {.kind = JP_RULE_UNKNOWN};
	Dwarf_Op mem[3], *ops = NULL;
	size_t count = 0;

	if (dwarf_frame_register(frame, reg, mem, &ops, &count))
		return rule;
	if (count ==
	    0) { /* libdw: no operations mean "same value", or "undefined" if it returned @mem */
		rule.kind = ops == mem ? JP_RULE_LOST : JP_RULE_KEPT;
	} else if (count == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31) {
		rule.kind = JP_RULE_REG;
		rule.reg = ops[0].atom - DW_OP_reg0;
	} else if (count == 1 && ops[0].atom == DW_OP_regx) {
		if (ops[0].number < JP_REGS) {
			rule.kind = JP_RULE_REG;
			rule.reg = ops[0].number;
		}
	} else if (count > 1 && ops[count - 1].atom == DW_OP_stack_value) {
		rule = make_rule(rows, ops, count - 1, true);
	} else {
		rule = make_rule(rows, ops, count, false);
	}
	return rule;
}

/* Returns whether @rule, of the stack pointer, is that its value is the CFA, which is DWARF's
 * default. */
static bool is_value_cfa(const struct jp_cfi_rule *rule)
{
	return rule->kind == JP_RULE_KEPT || rule->kind == JP_RULE_LOST ||
	       (rule->kind == JP_RULE_CFA && !rule->offset);
}

/* Returns whether @row is a direct step, whose rules only add offsets to the CFA (struct
 * jp_cfi_row), and stores the bounds of the offsets of its @rules. */
static bool check_direct_step(struct jp_cfi_row *row, const struct jp_cfi_rule *rules, unsigned sp)
{
	int64_t low = rules->offset, high = low;

	row->ruled = UINT64_C(1) << sp;
	for (unsigned i = 0; i < row->count; i++) {
		if (rules[i].kind != JP_RULE_AT_CFA)
			return false;
		low = rules[i].offset < low ? rules[i].offset : low;
		high = rules[i].offset > high ? rules[i].offset : high;
		row->ruled |= UINT64_C(1) << rules[i].target;
	}
	row->low = (int32_t)low;
	row->span = (uint32_t)(high - low);
	return row->kind == JP_ROW_STEP && row->cfa.kind == JP_RULE_REG && row->sp_is_cfa;
}

static void fill_row(struct jp_cfi *cfi, Dwarf_Frame *frame, struct jp_cfi_row *row,
		     int return_address, bool is_signal)
{
	const struct jp_machine *machine = cfi->machine;
	struct jp_cfi_rows *rows = &cfi->rows;
	struct jp_cfi_rule rule;
	Dwarf_Op *ops = NULL;
	size_t count = 0;

	row->first_rule = rows->nr_rules;
	if (dwarf_frame_cfa(frame, &ops, &count) || count == 0)
		return;
	row->cfa = make_rule(rows, ops, count, true);
	if (row->cfa.kind == JP_RULE_UNKNOWN || row->cfa.kind == JP_RULE_CFA ||
	    return_address < 0 || return_address >= JP_REGS)
		return;
	/* The return address is the first rule: no step is possible without it. */
	rule = register_rule(rows, frame, return_address);
	if (rule.kind == JP_RULE_LOST)
		row->kind = JP_ROW_END;
	if (rule.kind == JP_RULE_LOST || rule.kind == JP_RULE_UNKNOWN)
		return;
	if (rule.kind == JP_RULE_KEPT) {
		rule.kind = JP_RULE_REG;
		rule.reg = return_address;
	}
	rule.target = machine->ip;
	if (!jp_cfi_rows_add_rule(rows, rule))
		return;
	for (int reg = 0; reg < JP_REGS; reg++) {
		/* At a caller, the link register no longer has the return address, unless the
		 * caller was interrupted. */
		if (reg == machine->ip || (reg == return_address && !is_signal))
			continue;
		rule = register_rule(rows, frame, reg);
		/* A register without a rule follows the machine's calling convention. libdw's own
		 * defaults confuse rbx and rax (backends/x86_64_cfi.c, elfutils 0.188). */
		if (reg == machine->sp && is_value_cfa(&rule)) {
			row->sp_is_cfa = true;
			continue;
		}
		if ((rule.kind == JP_RULE_KEPT || rule.kind == JP_RULE_LOST) && reg < 32 &&
		    machine->frames->saved & (uint32_t)1 << reg)
			row->preserved |= (uint32_t)1 << reg;
		if (reg == machine->sp && rule.kind == JP_RULE_UNKNOWN)
			return;
		if (rule.kind >= JP_RULE_LOST)
			continue;
		rule.target = reg;
		if (!jp_cfi_rows_add_rule(rows, rule))
			return;
	}
	row->count = rows->nr_rules - row->first_rule;
	row->kind = is_signal ? JP_ROW_SIGNAL : JP_ROW_STEP;
	row->direct = check_direct_step(row, &rows->rules[row->first_rule], machine->sp);
}

/* Compiles the rules (row) at @vaddr with libdw, once per address. Takes the rules at the last
 * address of the range that libdw reports: libdw's range start is too low after
 * DW_CFA_restore_state. */
static __attribute__((noinline)) void compile_row(struct jp_cfi *cfi, uint64_t vaddr,
						  struct jp_cfi_row *row)
{
	Dwarf_Frame *frame = NULL;
	Dwarf_Addr start, end = 0;
	bool is_signal = false;
	int return_address;

	*row = (struct jp_cfi_row){.kind = JP_ROW_NONE};
	errno = 0;
	if (dwarf_cfi_addrframe(cfi->dwarf, vaddr, &frame) == 0) {
		const struct jp_cfi_row *last;

		return_address = dwarf_frame_info(frame, &start, &end, &is_signal);
		last = end > vaddr ? jp_cfi_rows_find(&cfi->rows, end - 1) : NULL;
		if (last)
			*row = *last;
		else
			fill_row(cfi, frame, row, return_address, is_signal);
		if (!last && end > vaddr)
			jp_cfi_rows_append(&cfi->rows, end - 1, row);
		free(frame);
	}
	jp_shortage_note(errno);
	jp_cfi_rows_append(&cfi->rows, vaddr, row);
}

const struct jp_cfi_rows *jp_cfi_row_at(struct jp_cfi *cfi, uint64_t vaddr, struct jp_cfi_row *row)
{
	const struct jp_cfi_row *known = jp_cfi_rows_find(&cfi->rows, vaddr);

	if (known)
		*row = *known;
	else
		compile_row(cfi, vaddr, row);
	return &cfi->rows;
}

enum jp_cfi_answer jp_cfi_step(struct jp_cfi *cfi, uint64_t vaddr, struct jp_regs *regs,
			       jp_stack_load load, void *context)
{
	const struct jp_cfi_row *row = jp_cfi_rows_find(&cfi->rows, vaddr);
	struct jp_cfi_row compiled;

	if (!row) {
		compile_row(cfi, vaddr, &compiled);
		row = &compiled;
	}
	return jp_cfi_rows_step(&cfi->rows, row, cfi->machine->sp, regs, load, context);
}

uint64_t jp_cfi_vaddr(const struct jp_cfi *cfi, uint64_t offset)
{
	const struct jp_elf_image *image = &cfi->image;

	for (size_t i = 0; i < image->nr_code; i++) {
		const struct jp_elf_segment *segment = &image->code[i];

		if (offset >= segment->offset && offset - segment->offset < segment->size)
			return offset - segment->offset + segment->vaddr;
	}
	/* Mappings start and end at page boundaries, segments do not. */
	for (size_t i = 0; i < image->nr_code; i++) {
		const struct jp_elf_segment *segment = &image->code[i];
		/* A segment is mapped from a page's start. */
		uint64_t first = segment->offset & ~(uint64_t)(JP_PAGE_LARGEST - 1);

		if (offset >= first && offset - first < segment->size + JP_PAGE_LARGEST)
			return offset - segment->offset + segment->vaddr;
	}
	return UINT64_MAX;
}

/* Opens @image, which the result owns; frees it on failure. Returns NULL and a message on error. */
static struct jp_cfi *open_made(struct jp_elf_image *image, struct jp_error *err)
{
	struct jp_cfi *cfi = calloc(1, sizeof(*cfi));

	if (!cfi) {
		jp_elf_image_free(image);
		jp_fail(err, ENOMEM, "out of memory for call frame information");
		return NULL;
	}
	cfi->image = *image;
	cfi->machine = jp_machine_find(cfi->image.machine);
	if (!cfi->machine) {
		jp_fail(err, ENOTSUP, "this jitproof cannot unwind code of ELF machine %u",
			cfi->image.machine);
		goto bad;
	}
	errno = 0;
	elf_version(EV_CURRENT);
	cfi->elf = elf_memory((char *)cfi->image.bytes, cfi->image.size);
	cfi->dwarf = cfi->elf ? dwarf_getcfi_elf(cfi->elf) : NULL;
	jp_shortage_note(errno);
	if (!cfi->dwarf) {
		jp_fail(err, EINVAL, "libdw cannot read the call frame information: %s",
			dwarf_errmsg(-1));
		goto bad;
	}
	return cfi;
bad:
	jp_cfi_close(cfi);
	return NULL;
}

struct jp_cfi *jp_cfi_open(int fd, struct jp_error *err)
{
	struct jp_elf_image image;

	return jp_elf_extract(fd, NULL, 0, &image, err) ? NULL : open_made(&image, err);
}

struct jp_cfi *jp_cfi_open_image(const void *image, size_t size, struct jp_error *err)
{
	struct jp_elf_image made;

	return jp_elf_extract(-1, image, size, &made, err) ? NULL : open_made(&made, err);
}

struct jp_cfi *jp_cfi_open_tables(uint16_t machine, uint64_t vaddr, uint64_t size,
				  const struct jp_cfi_section *frame,
				  const struct jp_cfi_section *index, struct jp_error *err)
{
	const struct jp_elf_segment code = {vaddr, vaddr, size};
	struct jp_elf_image image;

	return jp_elf_make_from_tables(machine, &code, frame, index, &image, err)
		       ? NULL
		       : open_made(&image, err);
}

void jp_cfi_close(struct jp_cfi *cfi)
{
	if (!cfi)
		return;
	if (cfi->dwarf)
		dwarf_cfi_end(cfi->dwarf);
	elf_end(cfi->elf);
	jp_cfi_rows_free(&cfi->rows);
	jp_elf_image_free(&cfi->image);
	free(cfi);
}

const struct jp_build_id *jp_cfi_build_id(const struct jp_cfi *cfi)
{
	return &cfi->image.id;
}

void jp_cfi_frames(const struct jp_cfi *cfi, size_t *functions, size_t *framed)
{
	*functions = cfi->image.functions;
	*framed = cfi->image.framed;
}

const struct jp_machine *jp_cfi_machine(const struct jp_cfi *cfi)
{
	return cfi->machine;
}
