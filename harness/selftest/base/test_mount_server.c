// SPDX-License-Identifier: GPL-2.0-only
/* Whose process serves a file system. */
#include <sched.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

#include "harness/base/mount_server.h"
#include "harness/selftest/support/scratch.h"

enum { USER = 12321 };

static void kernels_own(void)
{
	static const char *const paths[] = {"/", "/proc", "/dev"};
	uid_t user = USER;
	struct stat st;

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		check(!stat(paths[i], &st) && !jp_mount_server(st.st_dev, &user) && user == USER,
		      "%s is served by the kernel", paths[i]);
}

/* Nobody answers: what is asked of the mount alone must do. */
static void served(uid_t user, const char *folder, int fuse)
{
	char options[96];
	uid_t found = 1;
	struct statx st;

	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%u,group_id=0", fuse,
		 user);
	if (!check(!mount("test", folder, "fuse", MS_NOSUID | MS_NODEV, options), "mounted: %s",
		   strerror(errno)))
		return;
	check(!statx(AT_FDCWD, folder, AT_STATX_DONT_SYNC, 0, &st) &&
		      jp_mount_server(makedev(st.stx_dev_major, st.stx_dev_minor), &found),
	      "a user serves it");
	check(found == user, "user %u, expected %u", found, user);
	check(!umount2(folder, MNT_DETACH), "unmounted");
}

int main(void)
{
	const char *folder = scratch_make("folder");
	int fuse;

	kernels_own();
	fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fuse < 0 || geteuid() || unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || mkdir(folder, 0755)) {
		check(true, "# SKIP no FUSE mount in a namespace of our own: %s", strerror(errno));
		return check_done();
	}
	served(USER, folder, fuse);
	close(fuse);
	fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	served(0, folder, fuse);
	close(fuse);
	return check_done();
}
