/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/json.h"
#include "harness/lint/findings.h"

/* The @findings of @name as lines "NAME: offset 12: error: TEXT [RULE]", then one line of sums. */
void jp_lint_print(const char *name, const struct jp_lint_findings *findings);
/* The same as an object of an array. */
void jp_lint_json(struct jp_json *json, const char *name, const struct jp_lint_findings *findings);
/* All rules, a line each. */
void jp_lint_print_rules(void);
