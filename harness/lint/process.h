/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/lint/findings.h"

/* Reads the mappings of the running process @pid, and finds its jitdumps and perf maps. Returns 0,
 * or -errno and a message. */
int jp_lint_process_read(uint32_t pid, struct jp_lint_process *process, struct jp_error *err);
/* Checks @process as a whole, after its files were checked with jp_lint_file(). Returns 0, or
 * -errno and a message. */
int jp_lint_process(struct jp_lint_process *process, struct jp_lint_findings *findings,
		    struct jp_error *err);
void jp_lint_process_free(struct jp_lint_process *process);
