/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/lint/findings.h"

/*
 * Checks one file, of @process where it is not NULL, which learns what the file publishes. What is
 * wrong with it are findings; -errno and a message where it cannot be read, or is neither a jitdump
 * nor a perf map.
 */
int jp_lint_file(const char *path, struct jp_lint_process *process,
		 struct jp_lint_findings *findings, struct jp_error *err);
