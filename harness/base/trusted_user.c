// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/trusted_user.h"

#include <sys/stat.h>
#include <unistd.h>

bool jp_is_trusted_user(uid_t user)
{
	struct stat st;

	if (!user || user == geteuid() || (!stat("/proc/self/exe", &st) && st.st_uid == user))
		return true;
	/* In a namespace without root, root appears as nobody. */
	return !stat("/", &st) && st.st_uid == user;
}
