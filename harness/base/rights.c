// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/rights.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/base/rights_calls.h"

enum { NOBODY = 65534 };
/* The definitions of linux/landlock.h, which is incomplete on older systems. */
enum {
	CREATE_RULESET_VERSION = 1,
	READ_FILE = 1 << 2,
	READ_DIR = 1 << 3,
	ALL_OF_5_13 = (1 << 13) - 1,
	REFER = 1 << 13,    /* LANDLOCK_ACCESS_FS_REFER, from 5.19 (ABI 2) */
	TRUNCATE = 1 << 14, /* LANDLOCK_ACCESS_FS_TRUNCATE, from 6.2 (ABI 3) */
};
#ifndef SYS_landlock_create_ruleset /* since 5.13; the same number on all architectures */
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self  446
#endif

static int64_t user_before = -1;

uid_t jp_rights_get_first_user(void)
{
	return user_before < 0 ? geteuid() : (uid_t)user_before;
}

/* Becomes the user @owner. Never takes the input's group: in a folder with S_ISGID anyone can
 * create files of another group. */
static int become_user(uid_t owner)
{
	const uid_t user = owner ? owner : NOBODY;
	int failed;

	if (geteuid())
		return 0;
	failed = setgroups(0, NULL) ? -errno : 0;
	/* Become @user only as effective user. A user may signal processes whose real or saved user
	 * it is, and the owner of a file must not be able to stop its reader. */
	if (!setresgid(NOBODY, NOBODY, NOBODY) && !setresuid(NOBODY, user, NOBODY))
		return failed;
	/* EINVAL: the user namespace does not map such a user, so root here is an ordinary user
	 * outside. */
	return errno == EINVAL ? 0 : -errno;
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &head, none) ? -errno : 0;
}

/* Forbids to write, create or execute files by path (Landlock, since 5.13); open files are not
 * affected. Needs PR_SET_NO_NEW_PRIVS. Returns 0 or -errno. */
static int forbid_writing(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);
	const uint64_t handled = (ALL_OF_5_13 & ~(READ_FILE | READ_DIR)) |
				 (version > 1 ? REFER : 0) | (version > 2 ? TRUNCATE : 0);
	int rules = -1, ret;

	if (version > 0)
		rules = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);
	/* A ruleset without rules forbids all handled accesses. */
	ret = rules < 0 || syscall(SYS_landlock_restrict_self, rules, 0) ? -errno : 0;
	if (rules >= 0)
		close(rules);
	return ret;
}

int jp_rights_drop(int64_t owner, int channel, int peer, struct jp_error *err)
{
	int user, capabilities, calls;

	user_before = geteuid();
	user = become_user((uid_t)owner);
	capabilities = drop_capabilities();
	/* Landlock is only a second lock, so its absence is no error. */
	calls = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
	if (!calls)
		calls = jp_rights_restrict_calls(channel, peer, !forbid_writing());
	if (user)
		return jp_fail(err, -user,
			       "cannot drop root privileges here (%s): the input is read as root, "
			       "without capabilities",
			       strerror(-user));
	if (capabilities)
		return jp_fail(err, -capabilities, "cannot drop capabilities here: %s",
			       strerror(-capabilities));
	if (calls)
		return jp_fail(err, -calls,
			       "cannot restrict system calls here (%s): the input is read with its "
			       "owner's rights only",
			       strerror(-calls));
	return 0;
}
