// SPDX-License-Identifier: GPL-2.0-only
/* Rules about the files' rights: who can change the names that profilers read. */
#include "harness/base/rights.h"
#include "harness/lint/findings.h"

static void check_mode(const struct jp_lint_file *file, struct jp_lint_findings *findings)
{
	if (file->status.st_mode & (S_IWGRP | S_IWOTH))
		jp_lint_found(findings, JP_LINT_WHOLE,
			      "mode %04o: others may write what profilers believe",
			      file->status.st_mode & 07777);
}

static void check_owner(const struct jp_lint_file *file, struct jp_lint_findings *findings)
{
	if (file->status.st_uid && file->status.st_uid != jp_rights_user())
		jp_lint_found(
			findings, JP_LINT_WHOLE,
			"belongs to user %u, neither root nor you: perf believes it all the same",
			file->status.st_uid);
}

static const struct jp_lint_rule rules[] = {
	{"file.mode", JP_LINT_WARNING, "others may write to the file", .file = check_mode},
	{"file.owner", JP_LINT_WARNING, "the file is another user's", .file = check_owner},
};
JP_REGISTER_ROWS(lint_rule, rules);
