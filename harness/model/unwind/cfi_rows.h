/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_CFI_ROWS_H
#define JP_CFI_ROWS_H

#include "harness/model/unwind/cfi_expression.h"

/* Compiled call frame information: what holds at one address, found by a hash of it. */

/* How one thing of the caller is found. */
enum jp_cfi_rule_kind {
	JP_RULE_CFA,     /* the CFA + offset is the value */
	JP_RULE_AT_CFA,  /* the value lies at the CFA + offset */
	JP_RULE_REG,     /* register + offset */
	JP_RULE_EXPR,    /* the expression's result is the value */
	JP_RULE_AT_EXPR, /* the value lies where the expression says */
	JP_RULE_LOST,    /* said to be undefined */
	JP_RULE_UNKNOWN, /* nothing that we understand */
	JP_RULE_KEPT,    /* as it was */
};

struct jp_cfi_rule {
	uint8_t kind;
	uint8_t target; /* the caller's register that it gives */
	uint8_t reg;    /* JP_RULE_REG: from this one */
	int32_t offset; /* or the index of the expression */
};

enum jp_cfi_row_kind { JP_ROW_EMPTY, JP_ROW_NONE, JP_ROW_END, JP_ROW_STEP, JP_ROW_SIGNAL };

struct jp_cfi_row {
	uint64_t vaddr;
	uint32_t first; /* of @count rules; the first of them gives the ip */
	uint32_t kept;  /* registers that stay known and unchanged */
	struct jp_cfi_rule cfa;
	uint8_t count;
	uint8_t kind;
};

struct jp_cfi_rows {
	struct jp_cfi_row *rows; /* open addressing, at most half full */
	unsigned shift;          /* 64 - log2 of their number */
	size_t nr_rows;
	struct jp_cfi_rule *rules;
	size_t nr_rules, rules_capacity;
	struct {
		uint32_t first, count;
	} * expressions; /* of @ops */
	size_t nr_expressions, expressions_capacity;
	struct jp_cfi_op *ops;
	size_t nr_ops, ops_capacity;
};

/* Room for two more rows; before jp_cfi_slot() is used at all. False: no memory. */
bool jp_cfi_rows_reserve(struct jp_cfi_rows *rows);
void jp_cfi_rows_free(struct jp_cfi_rows *rows);
void jp_cfi_rows_put(struct jp_cfi_rows *rows, const struct jp_cfi_row *row);
/* False: no memory. */
bool jp_cfi_rows_add_rule(struct jp_cfi_rows *rows, struct jp_cfi_rule rule);
/* The index of the expression, or -1: no memory. */
int32_t jp_cfi_rows_add_expression(struct jp_cfi_rows *rows, const struct jp_cfi_op *ops,
				   size_t count);

/* The row of @vaddr, or the empty one where it belongs. */
static inline struct jp_cfi_row *jp_cfi_rows_slot(const struct jp_cfi_rows *rows, uint64_t vaddr)
{
	size_t mask = ((size_t)1 << (64 - rows->shift)) - 1;
	size_t at = (vaddr * 0x9e3779b97f4a7c15u) >> rows->shift;

	while (rows->rows[at].kind != JP_ROW_EMPTY && rows->rows[at].vaddr != vaddr)
		at = (at + 1) & mask;
	return &rows->rows[at];
}

/* One step by @row; @sp: the stack pointer's index. */
enum jp_cfi_answer jp_cfi_rows_step(const struct jp_cfi_rows *rows, const struct jp_cfi_row *row,
				    unsigned sp, struct jp_regs *regs, jp_stack_load load,
				    void *context);

#endif
