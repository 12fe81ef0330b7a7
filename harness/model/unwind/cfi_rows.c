// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/unwind/cfi_rows.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"

void jp_cfi_rows_free(struct jp_cfi_rows *rows)
{
	jp_map_free(&rows->by_vaddr);
	free(rows->rules);
	free(rows->expressions);
	free(rows->ops);
}

void jp_cfi_rows_put(struct jp_cfi_rows *rows, uint64_t vaddr, const struct jp_cfi_row *row)
{
	struct jp_cfi_row *to = jp_map_at(&rows->by_vaddr, vaddr, sizeof(*to));

	if (to)
		*to = *row;
}

bool jp_cfi_rows_add_rule(struct jp_cfi_rows *rows, struct jp_cfi_rule rule)
{
	struct jp_cfi_rule *added = NULL;

	if (rows->nr_rules < INT32_MAX)
		added = jp_array_push(&rows->rules, &rows->nr_rules, &rows->rules_capacity);
	if (added)
		*added = rule;
	return added;
}

int32_t jp_cfi_rows_add_expression(struct jp_cfi_rows *rows, const struct jp_cfi_op *ops,
				   size_t count)
{
	struct jp_cfi_expression *added;

	if (rows->nr_ops + count > INT32_MAX ||
	    !jp_array_reserve(&rows->ops, &rows->ops_capacity, rows->nr_ops + count))
		return -1;
	added = jp_array_push(&rows->expressions, &rows->nr_expressions,
			      &rows->expressions_capacity);
	if (!added)
		return -1;
	*added = (struct jp_cfi_expression){rows->nr_ops, count};
	if (count)
		memcpy(&rows->ops[rows->nr_ops], ops, count * sizeof(*ops));
	rows->nr_ops += count;
	return rows->nr_expressions - 1;
}

static inline enum jp_cfi_answer apply(const struct jp_cfi_rows *rows,
				       const struct jp_cfi_rule *rule, const struct jp_regs *regs,
				       uint64_t cfa, jp_stack_load load, void *context,
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
		if (!(regs->known & UINT64_C(1) << rule->reg))
			return JP_CFI_NONE;
		*value = regs->r[rule->reg] + (int64_t)rule->offset;
		return JP_CFI_STEPPED;
	case JP_RULE_EXPR:
	case JP_RULE_AT_EXPR:
		answer = jp_cfi_evaluate(&rows->ops[rows->expressions[rule->offset].first],
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

/*
 * Compilers do not describe that an epilogue restored a register: its rule still names the slot
 * that it was popped from, which lies below sp and so in no dump. (Never the return address: it
 * would lead back to where the walk is.)
 */
static bool is_popped(const struct jp_cfi_rule *rule, const struct jp_regs *regs, uint64_t cfa,
		      unsigned sp)
{
	return rule->kind == JP_RULE_AT_CFA && cfa + (int64_t)rule->offset < regs->r[sp] &&
	       regs->known & UINT64_C(1) << rule->target;
}

enum jp_cfi_answer jp_cfi_rows_step(const struct jp_cfi_rows *rows, const struct jp_cfi_row *row,
				    unsigned sp, struct jp_regs *regs, jp_stack_load load,
				    void *context)
{
	/* Of all rows together there may be none. */
	const struct jp_cfi_rule *rules = rows->rules ? &rows->rules[row->first] : NULL;
	uint64_t values[JP_REGS + 1], cfa;
	enum jp_cfi_answer answer;
	uint64_t good = 0;

	if (row->kind == JP_ROW_END)
		return JP_CFI_END;
	if (row->kind != JP_ROW_STEP && row->kind != JP_ROW_SIGNAL)
		return JP_CFI_NONE;
	answer = apply(rows, &row->cfa, regs, 0, load, context, &cfa);
	if (answer != JP_CFI_STEPPED)
		return answer;
	/* Rules refer to the callee's registers: read all before changing any. A register that
	 * cannot be read becomes unknown; without the ip there is no step. */
	for (unsigned i = 0; i < row->count; i++) {
		answer = apply(rows, &rules[i], regs, cfa, load, context, &values[i]);
		if (answer == JP_CFI_STACK && i && is_popped(&rules[i], regs, cfa, sp)) {
			values[i] = regs->r[rules[i].target];
			answer = JP_CFI_STEPPED;
		}
		if (answer == JP_CFI_STEPPED)
			good |= UINT64_C(1) << rules[i].target;
		else if (i == 0 || rules[i].target == sp)
			return answer;
	}
	for (unsigned i = 0; i < row->count; i++)
		if (good & UINT64_C(1) << rules[i].target)
			regs->r[rules[i].target] = values[i];
	regs->known = (regs->known & row->kept) | good;
	return row->kind == JP_ROW_SIGNAL ? JP_CFI_SIGNAL : JP_CFI_STEPPED;
}
