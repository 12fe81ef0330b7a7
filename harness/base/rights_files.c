// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/rights_files.h"

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As in linux/landlock.h, which older systems lack in part. */
enum {
	CREATE_RULESET_VERSION = 1,
	READ_FILE = 1 << 2,
	READ_DIR = 1 << 3,
	ALL_OF_5_13 = (1 << 13) - 1,
	REFER = 1 << 13,    /* from 5.19 (ABI 2) */
	TRUNCATE = 1 << 14, /* from 6.2 (ABI 3) */
};
#ifndef SYS_landlock_create_ruleset /* 5.13; one number on every architecture */
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self  446
#endif

int jp_rights_read_only(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);
	const uint64_t handled = (ALL_OF_5_13 & ~(READ_FILE | READ_DIR)) |
				 (version > 1 ? REFER : 0) | (version > 2 ? TRUNCATE : 0);
	int rules = -1, ret;

	if (version > 0)
		rules = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);
	/* Without a single rule all that is handled is refused everywhere. */
	ret = rules < 0 || syscall(SYS_landlock_restrict_self, rules, 0) ? -errno : 0;
	if (rules >= 0)
		close(rules);
	return ret;
}
