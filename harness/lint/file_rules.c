// SPDX-License-Identifier: GPL-2.0-only
/* Rules about the file itself: who can change the names that profilers read, and whether the
 * running process wrote them. */
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/base/rights.h"
#include "harness/lint/findings.h"

static void check_mode(const struct jp_lint_file *file, struct jp_lint_findings *findings)
{
	if (file->status.st_mode & (S_IWGRP | S_IWOTH))
		jp_lint_found(findings, JP_LINT_WHOLE,
			      "mode %04o: other users may change the names that profilers show",
			      file->status.st_mode & 07777);
}

static void check_owner(const struct jp_lint_file *file, struct jp_lint_findings *findings)
{
	if (file->status.st_uid && file->status.st_uid != jp_rights_get_first_user())
		jp_lint_found(
			findings, JP_LINT_WHOLE,
			"belongs to user %u, neither root nor you: perf uses the file all the same",
			file->status.st_uid);
}

/* Reports a file that is older than its process. A file's time of change can be up to one clock
 * tick early. */
static void check_file_age(const struct jp_lint_file *file, struct jp_lint_findings *findings)
{
	const struct jp_lint_process *process = file->process;
	const uint64_t tick = JP_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);

	if (process && file->named_pid == process->own_pid && file->change_time &&
	    file->change_time + tick < process->started)
		jp_lint_found(findings, JP_LINT_WHOLE,
			      "last written %.1f s before process %u started: an earlier process "
			      "with this pid left it",
			      (double)(process->started - file->change_time) / JP_NS_PER_S,
			      process->own_pid);
}

static const struct jp_lint_rule rules[] = {
	{"file.mode", JP_LINT_WARNING, "other users may write to the file", .file = check_mode},
	{"file.owner", JP_LINT_WARNING, "the file is another user's", .file = check_owner},
	{"file.stale", JP_LINT_ERROR, "the file is older than its process", .file = check_file_age},
};
JP_REGISTER_ROWS(lint_rule, rules);
