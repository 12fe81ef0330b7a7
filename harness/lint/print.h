/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/json.h"
#include "harness/lint/findings.h"

/* Prints the @findings in @name as "NAME: offset 12: error: TEXT [RULE]", then a line of counts. */
void jp_lint_print(const char *name, const struct jp_lint_findings *findings);
/* Writes the contents of jp_lint_print() as a JSON object. */
void jp_lint_json(struct jp_json *json, const char *name, const struct jp_lint_findings *findings);
/* Prints the name, level and description of each rule, a line each. */
void jp_lint_print_rules(void);
