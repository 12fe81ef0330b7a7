// SPDX-License-Identifier: GPL-2.0-only
/* Rules about the files themselves: who may change what profilers believe. */
#include "harness/base/rights.h"
#include "harness/lint/findings.h"

static void check_mode(const struct jp_lint_file *file, struct jp_lint_findings *findings)
{
	if (file->status.st_mode & (S_IWGRP | S_IWOTH))
		jp_lint_found(findings, JP_LINT_WHOLE,
			      "mode %04o: others may write what profilers believe",
			      file->status.st_mode & 07777);
}

static void mode_of_dump(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	check_mode(&dump->file, findings);
}

static void mode_of_map(const struct jp_lint_map *map, struct jp_lint_findings *findings)
{
	check_mode(&map->file, findings);
}

static const struct jp_lint_rule file_mode = {
	.name = "file.mode",
	.level = JP_LINT_WARNING,
	.help = "others may write to the file",
	.dump = mode_of_dump,
	.map = mode_of_map,
};
JP_REGISTER(lint_rule, file_mode);

static void check_owner(const struct jp_lint_file *file, struct jp_lint_findings *findings)
{
	if (file->status.st_uid && file->status.st_uid != jp_rights_user())
		jp_lint_found(
			findings, JP_LINT_WHOLE,
			"belongs to user %u, neither root nor you: perf believes it all the same",
			file->status.st_uid);
}

static void owner_of_dump(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	check_owner(&dump->file, findings);
}

static void owner_of_map(const struct jp_lint_map *map, struct jp_lint_findings *findings)
{
	check_owner(&map->file, findings);
}

static const struct jp_lint_rule file_owner = {
	.name = "file.owner",
	.level = JP_LINT_WARNING,
	.help = "the file is another user's",
	.dump = owner_of_dump,
	.map = owner_of_map,
};
JP_REGISTER(lint_rule, file_owner);
