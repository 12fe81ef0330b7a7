/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/lint/findings.h"

/*
 * Checks a jitdump or perf map. @process: its process or NULL; the published code is added to it.
 * Adds defects to @findings. Returns 0, or -errno and a message if the file is unreadable or of
 * another kind.
 */
int jp_lint_file(const char *path, struct jp_lint_process *process,
		 struct jp_lint_findings *findings, struct jp_error *err);
