/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_CFI_ROWS_H
#define JP_CFI_ROWS_H

#include "harness/base/map.h"
#include "harness/model/unwind/cfi_expression.h"

/* Compiled call frame information: the rules at one address, in a map by address. */

/* How one thing of the caller is found. */
enum jp_cfi_rule_kind {
	JP_RULE_CFA,     /* the CFA + offset is the value */
	JP_RULE_AT_CFA,  /* the value lies at the CFA + offset */
	JP_RULE_REG,     /* register + offset */
	JP_RULE_EXPR,    /* the expression's result is the value */
	JP_RULE_AT_EXPR, /* the value lies where the expression says */
	JP_RULE_LOST,    /* undefined */
	JP_RULE_UNKNOWN, /* none that we support */
	JP_RULE_KEPT,    /* unchanged */
};

struct jp_cfi_rule {
	uint8_t kind;
	uint8_t target; /* the caller's register that it gives */
	uint8_t reg;    /* JP_RULE_REG: from this one */
	int32_t offset; /* or the index of the expression */
};

enum jp_cfi_row_kind { JP_ROW_NONE, JP_ROW_END, JP_ROW_STEP, JP_ROW_SIGNAL };

struct jp_cfi_row {
	uint32_t first; /* of @count rules; the first of them gives the ip */
	uint32_t kept;  /* registers that stay known and unchanged */
	struct jp_cfi_rule cfa;
	uint8_t count;
	uint8_t kind;
};

struct jp_cfi_expression {
	uint32_t first, count; /* of the operations */
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
/* Without memory the row is not kept. */
void jp_cfi_rows_put(struct jp_cfi_rows *rows, uint64_t vaddr, const struct jp_cfi_row *row);
/* False: no memory. */
bool jp_cfi_rows_add_rule(struct jp_cfi_rows *rows, struct jp_cfi_rule rule);
/* The index of the expression, or -1: no memory. */
int32_t jp_cfi_rows_add_expression(struct jp_cfi_rows *rows, const struct jp_cfi_op *ops,
				   size_t count);

/* The row of @vaddr, or NULL. */
static inline const struct jp_cfi_row *jp_cfi_rows_find(const struct jp_cfi_rows *rows,
							uint64_t vaddr)
{
	return jp_map_find(&rows->by_vaddr, vaddr);
}

/* One step by @row; @sp: the stack pointer's index. */
enum jp_cfi_answer jp_cfi_rows_step(const struct jp_cfi_rows *rows, const struct jp_cfi_row *row,
				    unsigned sp, struct jp_regs *regs, jp_stack_load load,
				    void *context);

#endif
