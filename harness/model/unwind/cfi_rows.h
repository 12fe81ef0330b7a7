/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/map.h"
#include "harness/model/unwind/cfi_expression.h"

/* Compiled call frame information: the rules at each address. */

/* How the value of a caller's register is computed. */
enum jp_cfi_rule_kind {
	JP_RULE_CFA,     /* the CFA + offset is the value */
	JP_RULE_AT_CFA,  /* the value is stored at the CFA + offset */
	JP_RULE_REG,     /* the value is register @reg + offset */
	JP_RULE_EXPR,    /* the expression's result is the value */
	JP_RULE_AT_EXPR, /* the value is stored at the expression's result */
	JP_RULE_LOST,    /* the value is undefined: the caller's register is lost */
	JP_RULE_UNKNOWN, /* the rule is not supported */
	JP_RULE_KEPT,    /* the register has the same value in the caller */
};

struct jp_cfi_rule {
	uint8_t kind;
	uint8_t target; /* register of the caller whose value the rule gives */
	uint8_t reg;    /* JP_RULE_REG: register of the callee */
	int32_t offset; /* offset, or index of an expression */
};

enum jp_cfi_row_kind { JP_ROW_NONE, JP_ROW_END, JP_ROW_STEP, JP_ROW_SIGNAL };

struct jp_cfi_row {
	uint32_t first_rule; /* index of the first of @count rules; the first is that of the ip */
	uint32_t preserved;  /* mask of registers that are known and equal in the caller */
	struct jp_cfi_rule cfa;
	uint8_t count;
	uint8_t kind;
	bool sp_is_cfa; /* the caller's stack pointer is the CFA */
	bool direct;    /* the CFA is a register + offset, and all rules are AT_CFA, with: */
	int32_t low;    /* the lowest offset of a rule */
	uint32_t span;  /* distance from the lowest to the highest offset */
	uint64_t ruled; /* mask of registers with a rule */
};

struct jp_cfi_expression {
	uint32_t first_op, count; /* index of the first operation, and number of operations */
};

struct jp_cfi_rows {
	struct jp_map by_vaddr; /* struct jp_cfi_row */
	struct jp_cfi_rule *rules;
	size_t nr_rules, rules_capacity;
	struct jp_cfi_expression *expressions;
	size_t nr_expressions, expressions_capacity;
	struct jp_cfi_op *ops;
	size_t nr_ops, ops_capacity;
};

void jp_cfi_rows_free(struct jp_cfi_rows *rows);
/* Caches @row, unless memory is short. */
void jp_cfi_rows_append(struct jp_cfi_rows *rows, uint64_t vaddr, const struct jp_cfi_row *row);
/* Adds a rule to the last row. Returns false if there is no memory. */
bool jp_cfi_rows_add_rule(struct jp_cfi_rows *rows, struct jp_cfi_rule rule);
/* Stores an expression. Returns its index, or -1 if there is no memory. */
int32_t jp_cfi_rows_add_expression(struct jp_cfi_rows *rows, const struct jp_cfi_op *ops,
				   size_t count);

/* Returns the cached row of @vaddr, or NULL. */
static inline const struct jp_cfi_row *jp_cfi_rows_find(const struct jp_cfi_rows *rows,
							uint64_t vaddr)
{
	return jp_map_find(&rows->by_vaddr, vaddr);
}

static inline enum jp_cfi_answer jp_cfi_rule_apply(const struct jp_cfi_rows *rows,
						   const struct jp_cfi_rule *rule,
						   const struct jp_regs *regs, uint64_t cfa,
						   jp_stack_load load, void *context,
						   uint64_t *value)
{
	enum jp_cfi_answer answer;

	switch (rule->kind) {
	case JP_RULE_CFA:
		*value = cfa + (int64_t)rule->offset;
		return JP_CFI_STEPPED;
	case JP_RULE_AT_CFA:
		return load(context, cfa + (int64_t)rule->offset, value) ? JP_CFI_STEPPED
									 : JP_CFI_STACK;
	case JP_RULE_REG:
		if (!(regs->mask & UINT64_C(1) << rule->reg))
			return JP_CFI_NONE;
		*value = regs->r[rule->reg] + (int64_t)rule->offset;
		return JP_CFI_STEPPED;
	case JP_RULE_EXPR:
	case JP_RULE_AT_EXPR:
		answer = jp_cfi_evaluate(&rows->ops[rows->expressions[rule->offset].first_op],
					 rows->expressions[rule->offset].count, regs, cfa, load,
					 context, value);
		if (answer == JP_CFI_STEPPED && rule->kind == JP_RULE_AT_EXPR &&
		    !load(context, *value, value))
			return JP_CFI_STACK;
		return answer;
	default:
		return JP_CFI_NONE;
	}
}

/* Returns whether @rule may be ignored because the epilogue has popped its register already, which
 * compilers do not describe. The rule then refers to a stack slot below sp, which no dump contains.
 * Never true for the return address, which would lead back to the same frame. */
static inline bool jp_cfi_rule_popped(const struct jp_cfi_rule *rule, const struct jp_regs *regs,
				      uint64_t cfa, unsigned sp)
{
	return rule->kind == JP_RULE_AT_CFA && cfa + (int64_t)rule->offset < regs->r[sp] &&
	       regs->mask & UINT64_C(1) << rule->target;
}

/* Steps to the caller by the rules of @row. @sp: number of the stack pointer register. Inline, so
 * that @load can be inlined. */
static inline enum jp_cfi_answer jp_cfi_rows_step(const struct jp_cfi_rows *rows,
						  const struct jp_cfi_row *row, unsigned sp,
						  struct jp_regs *regs, jp_stack_load load,
						  void *context)
{
	/* @rules may be NULL if no row has any rule. */
	const struct jp_cfi_rule *rules = rows->rules ? &rows->rules[row->first_rule] : NULL;
	uint64_t values[JP_REGS + 1], cfa;
	enum jp_cfi_answer answer;
	uint64_t valid = 0;

	if (row->kind == JP_ROW_END)
		return JP_CFI_END;
	if (row->kind != JP_ROW_STEP && row->kind != JP_ROW_SIGNAL)
		return JP_CFI_NONE;
	answer = jp_cfi_rule_apply(rows, &row->cfa, regs, 0, load, context, &cfa);
	if (answer != JP_CFI_STEPPED)
		return answer;
	/* Rules use the callee's registers, so read all values before changing any. A register that
	 * cannot be read becomes unknown; without the ip the step fails. */
	for (unsigned i = 0; i < row->count; i++) {
		answer = jp_cfi_rule_apply(rows, &rules[i], regs, cfa, load, context, &values[i]);
		if (answer == JP_CFI_STACK && i && jp_cfi_rule_popped(&rules[i], regs, cfa, sp)) {
			values[i] = regs->r[rules[i].target];
			answer = JP_CFI_STEPPED;
		}
		if (answer == JP_CFI_STEPPED)
			valid |= UINT64_C(1) << rules[i].target;
		else if (i == 0 || rules[i].target == sp)
			return answer;
	}
	for (unsigned i = 0; i < row->count; i++)
		if (valid & UINT64_C(1) << rules[i].target)
			regs->r[rules[i].target] = values[i];
	if (row->sp_is_cfa) {
		regs->r[sp] = cfa;
		valid |= UINT64_C(1) << sp;
	}
	regs->mask = (regs->mask & row->preserved) | valid;
	return row->kind == JP_ROW_SIGNAL ? JP_CFI_SIGNAL : JP_CFI_STEPPED;
}
