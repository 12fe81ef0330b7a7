// SPDX-License-Identifier: GPL-2.0-only
#include "harness/cfi.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cfi_expression.h"
#include "harness/elf_file.h"
#include "harness/machine.h"

enum {
	FIRST_ROWS = 256,
	MAX_OPS = 256, /* operations of one expression */
	PAGE = 65536,  /* the largest page of any machine: segments are mapped from its start */
};

/* How one thing of the caller is found. */
enum rule_kind {
	RULE_CFA,     /* the CFA + offset is the value */
	RULE_AT_CFA,  /* the value lies at the CFA + offset */
	RULE_REG,     /* register + offset */
	RULE_EXPR,    /* the expression's result is the value */
	RULE_AT_EXPR, /* the value lies where the expression says */
	RULE_UNKNOWN, /* undefined, or nothing that we understand */
	RULE_KEPT,    /* as it was */
};

struct rule {
	uint8_t kind;
	uint8_t target; /* the caller's register that it gives */
	uint8_t reg;    /* RULE_REG: from this one */
	int32_t offset; /* or the index of the expression */
};

enum row_kind { ROW_EMPTY, ROW_NONE, ROW_END, ROW_STEP, ROW_SIGNAL };

/* What holds at one address. */
struct row {
	uint64_t vaddr;
	uint32_t first; /* its rules: cfi->rules[first ... first + count) */
	uint32_t kept;  /* registers that stay known and unchanged */
	struct rule cfa;
	uint8_t count;
	uint8_t kind;
};

struct expression {
	uint32_t first, count; /* cfi->ops */
};

struct segment {
	uint64_t offset, vaddr, size;
};

struct jp_cfi {
	const struct jp_machine *machine;
	struct jp_elf_image image;
	Elf *elf;
	Dwarf_CFI *dwarf;
	struct segment *segments; /* executable ones */
	size_t nr_segments;
	struct row *rows; /* open addressing, at most half full */
	unsigned shift;   /* 64 - log2 of their number */
	size_t nr_rows;
	struct rule *rules;
	size_t nr_rules, room_rules;
	struct expression *expressions;
	size_t nr_expressions, room_expressions;
	struct jp_cfi_op *ops;
	size_t nr_ops, room_ops;
};

static bool grow(void *array, size_t *room, size_t count, size_t size)
{
	void **old = array, *bigger;
	size_t more = *room ? *room : 64;

	if (count <= *room)
		return true;
	while (more < count)
		more *= 2;
	if (more > INT32_MAX)
		return false;
	bigger = realloc(*old, more * size);
	if (!bigger)
		return false;
	*old = bigger;
	*room = more;
	return true;
}

/* One DWARF operation in our spelling. False: it is none of those that call frames use. */
static bool translate(const Dwarf_Op *from, struct jp_cfi_op *to)
{
	static const uint8_t plain[256] = {
		[DW_OP_call_frame_cfa] = JP_OP_CFA,
		[DW_OP_dup] = JP_OP_DUP,
		[DW_OP_drop] = JP_OP_DROP,
		[DW_OP_swap] = JP_OP_SWAP,
		[DW_OP_rot] = JP_OP_ROT,
		[DW_OP_abs] = JP_OP_ABS,
		[DW_OP_neg] = JP_OP_NEG,
		[DW_OP_not] = JP_OP_NOT,
		[DW_OP_and] = JP_OP_AND,
		[DW_OP_or] = JP_OP_OR,
		[DW_OP_xor] = JP_OP_XOR,
		[DW_OP_plus] = JP_OP_PLUS,
		[DW_OP_minus] = JP_OP_MINUS,
		[DW_OP_mul] = JP_OP_MUL,
		[DW_OP_div] = JP_OP_DIV,
		[DW_OP_mod] = JP_OP_MOD,
		[DW_OP_shl] = JP_OP_SHL,
		[DW_OP_shr] = JP_OP_SHR,
		[DW_OP_shra] = JP_OP_SHRA,
		[DW_OP_eq] = JP_OP_EQ,
		[DW_OP_ne] = JP_OP_NE,
		[DW_OP_lt] = JP_OP_LT,
		[DW_OP_le] = JP_OP_LE,
		[DW_OP_gt] = JP_OP_GT,
		[DW_OP_ge] = JP_OP_GE,
		[DW_OP_skip] = JP_OP_JUMP,
		[DW_OP_bra] = JP_OP_JUMP_IF,
	};

	*to = (struct jp_cfi_op){.kind = plain[from->atom], .value = from->number};
	if (to->kind)
		return true;
	switch (from->atom) {
	case DW_OP_lit0 ... DW_OP_lit31:
		to->kind = JP_OP_PUSH;
		to->value = from->atom - DW_OP_lit0;
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
		to->kind = JP_OP_PUSH;
		return true;
	case DW_OP_breg0 ... DW_OP_breg31:
		to->kind = JP_OP_REG;
		to->reg = from->atom - DW_OP_breg0;
		return true;
	case DW_OP_bregx:
		if (from->number >= JP_REGS)
			return false;
		to->kind = JP_OP_REG;
		to->reg = from->number;
		to->value = from->number2;
		return true;
	case DW_OP_over:
		to->kind = JP_OP_PICK;
		to->value = 1;
		return true;
	case DW_OP_pick:
		to->kind = JP_OP_PICK;
		return true;
	case DW_OP_deref:
		to->kind = JP_OP_LOAD;
		to->value = 8;
		return true;
	case DW_OP_deref_size:
		to->kind = JP_OP_LOAD;
		return from->number >= 1 && from->number <= 8;
	default:
		return false;
	}
}

static bool append(struct jp_cfi *cfi, struct jp_cfi_op op)
{
	if (!grow(&cfi->ops, &cfi->room_ops, cfi->nr_ops + 1, sizeof(*cfi->ops)))
		return false;
	cfi->ops[cfi->nr_ops++] = op;
	return true;
}

/* Byte offsets of jumps become indexes of operations. */
static bool link_jumps(struct jp_cfi_op *ops, const size_t *where, const Dwarf_Op *from,
		       size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct jp_cfi_op *op = &ops[where[i]];
		/* The operand is two bytes and counts from what follows them. */
		uint64_t target = from[i].offset + 3 + (int16_t)from[i].number;
		size_t to;

		if (from[i].atom != DW_OP_skip && from[i].atom != DW_OP_bra)
			continue;
		for (to = 0; to < count && from[to].offset != target; to++)
			;
		if (to == count && target <= from[count - 1].offset)
			return false;
		op->value = where[to];
	}
	return true;
}

/* The index of the expression, or -1. */
static int32_t add_expression(struct jp_cfi *cfi, const Dwarf_Op *ops, size_t count)
{
	size_t first = cfi->nr_ops, where[MAX_OPS + 1];
	struct jp_cfi_op op;

	if (count > MAX_OPS || !grow(&cfi->expressions, &cfi->room_expressions,
				     cfi->nr_expressions + 1, sizeof(*cfi->expressions)))
		return -1;
	for (size_t i = 0; i < count; i++) {
		where[i] = cfi->nr_ops - first;
		if (ops[i].atom == DW_OP_nop)
			continue;
		if (ops[i].atom == DW_OP_plus_uconst) {
			if (!append(cfi, (struct jp_cfi_op){JP_OP_PUSH, 0, ops[i].number}))
				goto bad;
			op = (struct jp_cfi_op){.kind = JP_OP_PLUS};
		} else if (!translate(&ops[i], &op)) {
			goto bad;
		}
		if (!append(cfi, op))
			goto bad;
	}
	where[count] = cfi->nr_ops - first;
	if (!link_jumps(&cfi->ops[first], where, ops, count))
		goto bad;
	cfi->expressions[cfi->nr_expressions] = (struct expression){first, cfi->nr_ops - first};
	return cfi->nr_expressions++;
bad:
	cfi->nr_ops = first;
	return -1;
}

static bool is_small(uint64_t number)
{
	return (int64_t)number >= INT32_MIN && (int64_t)number <= INT32_MAX;
}

/* How libdw says where something is, as a rule. @value: @ops give it, not its place. */
static struct rule make_rule(struct jp_cfi *cfi, const Dwarf_Op *ops, size_t count, bool value)
{
	struct rule rule = {.kind = value ? RULE_CFA : RULE_AT_CFA};
	struct jp_cfi_op op;

	if (count == 1 && ops[0].atom == DW_OP_call_frame_cfa)
		return rule;
	if (count == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_plus_uconst &&
	    is_small(ops[1].number)) {
		rule.offset = ops[1].number;
		return rule;
	}
	if (count == 1 && value && translate(&ops[0], &op) && op.kind == JP_OP_REG &&
	    is_small(op.value)) {
		rule.kind = RULE_REG;
		rule.reg = op.reg;
		rule.offset = op.value;
		return rule;
	}
	rule.kind = value ? RULE_EXPR : RULE_AT_EXPR;
	rule.offset = add_expression(cfi, ops, count);
	if (rule.offset < 0)
		rule.kind = RULE_UNKNOWN;
	return rule;
}

static struct rule register_rule(struct jp_cfi *cfi, Dwarf_Frame *frame, int reg)
{
	struct rule rule = {.kind = RULE_UNKNOWN};
	Dwarf_Op mem[3], *ops = NULL;
	size_t count = 0;

	if (dwarf_frame_register(frame, reg, mem, &ops, &count))
		return rule;
	if (count == 0) { /* libdw: no operations are "same value", or, at @mem, "undefined" */
		rule.kind = ops == mem ? RULE_UNKNOWN : RULE_KEPT;
	} else if (count == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31) {
		rule.kind = RULE_REG;
		rule.reg = ops[0].atom - DW_OP_reg0;
	} else if (count == 1 && ops[0].atom == DW_OP_regx) {
		if (ops[0].number < JP_REGS) {
			rule.kind = RULE_REG;
			rule.reg = ops[0].number;
		}
	} else if (count > 1 && ops[count - 1].atom == DW_OP_stack_value) {
		rule = make_rule(cfi, ops, count - 1, true);
	} else {
		rule = make_rule(cfi, ops, count, false);
	}
	return rule;
}

/* The row of @frame, its rules appended. */
static void fill(struct jp_cfi *cfi, Dwarf_Frame *frame, struct row *row, int return_address,
		 bool signal)
{
	const struct jp_machine *machine = cfi->machine;
	Dwarf_Op *ops = NULL;
	size_t count = 0;
	struct rule rule;

	row->kind = ROW_NONE;
	row->first = cfi->nr_rules;
	if (dwarf_frame_cfa(frame, &ops, &count) || count == 0)
		return;
	row->cfa = make_rule(cfi, ops, count, true);
	if (row->cfa.kind == RULE_UNKNOWN || row->cfa.kind == RULE_CFA || return_address < 0 ||
	    return_address >= JP_REGS ||
	    !grow(&cfi->rules, &cfi->room_rules, cfi->nr_rules + JP_REGS + 1, sizeof(*cfi->rules)))
		return;
	/* The way back comes first: without it nothing else matters. */
	rule = register_rule(cfi, frame, return_address);
	if (rule.kind == RULE_UNKNOWN) {
		row->kind = ROW_END;
		return;
	}
	if (rule.kind == RULE_KEPT) {
		rule.kind = RULE_REG;
		rule.reg = return_address;
	}
	rule.target = machine->ip;
	cfi->rules[cfi->nr_rules++] = rule;
	for (int reg = 0; reg < JP_REGS; reg++) {
		if (reg == machine->ip)
			continue;
		rule = register_rule(cfi, frame, reg);
		if (rule.kind == RULE_KEPT)
			row->kept |= (uint32_t)1 << reg;
		/* The CFA is the caller's sp unless a rule says otherwise. */
		if (reg == machine->sp && (rule.kind == RULE_KEPT || rule.kind == RULE_UNKNOWN))
			rule.kind = RULE_CFA;
		if (rule.kind == RULE_KEPT || rule.kind == RULE_UNKNOWN)
			continue;
		rule.target = reg;
		cfi->rules[cfi->nr_rules++] = rule;
	}
	row->count = cfi->nr_rules - row->first;
	row->kind = signal ? ROW_SIGNAL : ROW_STEP;
}

static struct row *slot(const struct jp_cfi *cfi, uint64_t vaddr)
{
	size_t mask = ((size_t)1 << (64 - cfi->shift)) - 1;
	size_t at = (vaddr * 0x9e3779b97f4a7c15u) >> cfi->shift;

	while (cfi->rows[at].kind != ROW_EMPTY && cfi->rows[at].vaddr != vaddr)
		at = (at + 1) & mask;
	return &cfi->rows[at];
}

static bool more_rows(struct jp_cfi *cfi)
{
	size_t count = cfi->rows ? (size_t)1 << (64 - cfi->shift) : 0;
	struct row *old = cfi->rows;

	if (count && (cfi->nr_rows + 2) * 2 <= count)
		return true;
	cfi->rows = calloc(count ? count * 2 : FIRST_ROWS, sizeof(*cfi->rows));
	if (!cfi->rows) {
		cfi->rows = old;
		return false;
	}
	cfi->shift = count ? cfi->shift - 1 : 64 - __builtin_ctz(FIRST_ROWS);
	for (size_t i = 0; i < count; i++)
		if (old[i].kind != ROW_EMPTY)
			*slot(cfi, old[i].vaddr) = old[i];
	free(old);
	return true;
}

static void put(struct jp_cfi *cfi, const struct row *row)
{
	struct row *to = slot(cfi, row->vaddr);

	if (to->kind == ROW_EMPTY)
		cfi->nr_rows++;
	*to = *row;
}

/* Asks libdw once for each address. All addresses of one range share the rules of the range's last
 * one. (Its first one will not do: libdw's start is too low after DW_CFA_restore_state.) */
static __attribute__((noinline)) bool compile(struct jp_cfi *cfi, uint64_t vaddr, struct row *row)
{
	Dwarf_Frame *frame = NULL;
	Dwarf_Addr start, end;
	bool signal;
	int return_address;

	*row = (struct row){.vaddr = vaddr, .kind = ROW_NONE};
	if (!more_rows(cfi))
		return false;
	if (dwarf_cfi_addrframe(cfi->dwarf, vaddr, &frame) == 0) {
		return_address = dwarf_frame_info(frame, &start, &end, &signal);
		if (end > vaddr && slot(cfi, end - 1)->kind != ROW_EMPTY) {
			*row = *slot(cfi, end - 1);
		} else {
			fill(cfi, frame, row, return_address, signal);
			row->vaddr = end - 1;
			if (end > vaddr)
				put(cfi, row);
		}
		row->vaddr = vaddr;
		free(frame);
	}
	put(cfi, row);
	return true;
}

static enum jp_cfi_answer apply(const struct jp_cfi *cfi, const struct rule *rule,
				const struct jp_regs *regs, uint64_t cfa, jp_cfi_load load,
				void *context, uint64_t *value)
{
	const struct expression *expression;
	enum jp_cfi_answer answer;

	switch (rule->kind) {
	case RULE_CFA:
		*value = cfa + (int64_t)rule->offset;
		return JP_CFI_STEPPED;
	case RULE_AT_CFA:
		return load(context, cfa + (int64_t)rule->offset, value) ? JP_CFI_STEPPED
									 : JP_CFI_STACK;
	case RULE_REG:
		if (!(regs->known & (uint32_t)1 << rule->reg))
			return JP_CFI_NONE;
		*value = regs->r[rule->reg] + (int64_t)rule->offset;
		return JP_CFI_STEPPED;
	default:
		expression = &cfi->expressions[rule->offset];
		answer = jp_cfi_evaluate(&cfi->ops[expression->first], expression->count, regs, cfa,
					 load, context, value);
		if (answer == JP_CFI_STEPPED && rule->kind == RULE_AT_EXPR &&
		    !load(context, *value, value))
			return JP_CFI_STACK;
		return answer;
	}
}

enum jp_cfi_answer jp_cfi_step(struct jp_cfi *cfi, uint64_t vaddr, struct jp_regs *regs,
			       jp_cfi_load load, void *context)
{
	uint64_t values[JP_REGS + 1], cfa;
	const struct row *row = slot(cfi, vaddr);
	const struct rule *rules;
	enum jp_cfi_answer answer;
	uint32_t good = 0, known;
	struct row compiled;

	if (row->kind == ROW_EMPTY) {
		if (!compile(cfi, vaddr, &compiled))
			return JP_CFI_NONE;
		row = &compiled;
	}
	if (row->kind == ROW_NONE)
		return JP_CFI_NONE;
	if (row->kind == ROW_END)
		return JP_CFI_END;
	answer = apply(cfi, &row->cfa, regs, 0, load, context, &cfa);
	if (answer != JP_CFI_STEPPED)
		return answer;
	rules = &cfi->rules[row->first];
	answer = apply(cfi, &rules[0], regs, cfa, load, context, &values[0]);
	if (answer != JP_CFI_STEPPED)
		return answer;
	known = regs->known & row->kept;
	/* All values are of the callee: none is changed before the last is read. */
	for (unsigned i = 1; i < row->count; i++)
		if (apply(cfi, &rules[i], regs, cfa, load, context, &values[i]) == JP_CFI_STEPPED)
			good |= (uint32_t)1 << rules[i].target;
	if (!(good & (uint32_t)1 << cfi->machine->sp))
		return JP_CFI_STACK;
	regs->r[rules[0].target] = values[0];
	for (unsigned i = 1; i < row->count; i++)
		if (good & (uint32_t)1 << rules[i].target)
			regs->r[rules[i].target] = values[i];
	regs->known = known | good | (uint32_t)1 << rules[0].target;
	return row->kind == ROW_SIGNAL ? JP_CFI_SIGNAL : JP_CFI_STEPPED;
}

uint64_t jp_cfi_vaddr(const struct jp_cfi *cfi, uint64_t offset)
{
	for (size_t i = 0; i < cfi->nr_segments; i++) {
		const struct segment *segment = &cfi->segments[i];

		if (offset >= segment->offset && offset - segment->offset < segment->size)
			return offset - segment->offset + segment->vaddr;
	}
	/* Mappings start and end at pages, segments do not. */
	for (size_t i = 0; i < cfi->nr_segments; i++) {
		const struct segment *segment = &cfi->segments[i];
		uint64_t first = segment->offset & ~(uint64_t)(PAGE - 1);

		if (offset >= first && offset - first < segment->size + PAGE)
			return offset - segment->offset + segment->vaddr;
	}
	return UINT64_MAX;
}

static bool find_segments(struct jp_cfi *cfi)
{
	size_t count;
	GElf_Phdr head;

	if (elf_getphdrnum(cfi->elf, &count))
		return false;
	cfi->segments = calloc(count + 1, sizeof(*cfi->segments));
	if (!cfi->segments)
		return false;
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(cfi->elf, i, &head) && head.p_type == PT_LOAD &&
		    head.p_flags & PF_X)
			cfi->segments[cfi->nr_segments++] =
				(struct segment){head.p_offset, head.p_vaddr, head.p_filesz};
	return true;
}

static struct jp_cfi *open_either(int fd, const void *image, size_t size, struct jp_error *err)
{
	struct jp_cfi *cfi = calloc(1, sizeof(*cfi));

	if (!cfi || !more_rows(cfi)) {
		free(cfi);
		jp_fail(err, ENOMEM, "no memory for call frame information");
		return NULL;
	}
	if (jp_elf_extract(fd, image, size, &cfi->image, err))
		goto bad;
	cfi->machine = jp_machine_find(cfi->image.machine);
	if (!cfi->machine) {
		jp_fail(err, ENOTSUP, "ELF file of machine %u, which is not built in",
			cfi->image.machine);
		goto bad;
	}
	cfi->elf = elf_memory((char *)cfi->image.bytes, cfi->image.size);
	cfi->dwarf = cfi->elf ? dwarf_getcfi_elf(cfi->elf) : NULL;
	if (!cfi->dwarf || !find_segments(cfi)) {
		jp_fail(err, EINVAL, "call frame information: %s", dwarf_errmsg(-1));
		goto bad;
	}
	return cfi;
bad:
	jp_cfi_close(cfi);
	return NULL;
}

struct jp_cfi *jp_cfi_open(int fd, struct jp_error *err)
{
	return open_either(fd, NULL, 0, err);
}

struct jp_cfi *jp_cfi_open_image(const void *image, size_t size, struct jp_error *err)
{
	return open_either(-1, image, size, err);
}

void jp_cfi_close(struct jp_cfi *cfi)
{
	if (!cfi)
		return;
	if (cfi->dwarf)
		dwarf_cfi_end(cfi->dwarf);
	elf_end(cfi->elf);
	free(cfi->image.bytes);
	free(cfi->segments);
	free(cfi->rows);
	free(cfi->rules);
	free(cfi->expressions);
	free(cfi->ops);
	free(cfi);
}

const struct jp_build_id *jp_cfi_build_id(const struct jp_cfi *cfi)
{
	return &cfi->image.id;
}

const struct jp_machine *jp_cfi_machine(const struct jp_cfi *cfi)
{
	return cfi->machine;
}

size_t jp_cfi_rows(const struct jp_cfi *cfi)
{
	return cfi->nr_rows;
}
