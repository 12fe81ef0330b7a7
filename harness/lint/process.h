/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/lint/findings.h"

/* Looks at the running process @pid: its mappings, and which files it publishes by. */
int jp_lint_process_look(uint32_t pid, struct jp_lint_process *process, struct jp_error *err);
/* What is wrong with @process as a whole, once all its files were checked. */
int jp_lint_process(struct jp_lint_process *process, struct jp_lint_findings *findings,
		    struct jp_error *err);
void jp_lint_process_free(struct jp_lint_process *process);
