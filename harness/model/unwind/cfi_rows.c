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

void jp_cfi_rows_append(struct jp_cfi_rows *rows, uint64_t vaddr, const struct jp_cfi_row *row)
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
