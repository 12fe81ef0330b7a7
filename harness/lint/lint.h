/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/lint/findings.h"

/*
 * Checks the jitdump or perf map @path and adds its defects to @findings. @process: the process
 * that wrote the file, to which the published code is added; may be NULL. Returns 0, or -errno and
 * a message if the file is unreadable or of another kind.
 */
int jp_lint_file(const char *path, struct jp_lint_process *process,
		 struct jp_lint_findings *findings, struct jp_error *err);
