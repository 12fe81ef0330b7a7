// SPDX-License-Identifier: GPL-2.0-only
/* Tests finding the user whose process serves a FUSE file system. */
#include <sched.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

#include "harness/base/trusted_path.h"
#include "harness/selftest/support/scratch.h"

enum { USER = 12321 };

TEST(kernel_mounts)
{
	static const char *const paths[] = {"/", "/proc", "/dev"};
	uid_t user = USER;
	struct stat st;

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		check(!stat(paths[i], &st) && !jp_mount_find_server(st.st_dev, &user) &&
			      user == USER,
		      "%s is served by the kernel", paths[i]);
}

/* No server answers, so only the mount's own attributes are available. */
static void test_fuse_mount(uid_t user, const char *folder, int fuse)
{
	char options[96];
	uid_t server = 1;
	struct statx st;

	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%u,group_id=0", fuse,
		 user);
	if (!check(!mount("test", folder, "fuse", MS_NOSUID | MS_NODEV, options),
		   "a FUSE mount is made: %s", strerror(errno)))
		return;
	check(!statx(AT_FDCWD, folder, AT_STATX_DONT_SYNC, 0, &st) &&
		      jp_mount_find_server(makedev(st.stx_dev_major, st.stx_dev_minor), &server),
	      "a user process serves the mount");
	check(server == user, "the server's user is %u, expected %u", server, user);
	check(!umount2(folder, MNT_DETACH), "the mount is removed");
}

TEST(mount_server)
{
	const char *folder = scratch_make("folder");
	int fuse;

	fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fuse < 0 || geteuid() || unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || mkdir(folder, 0755)) {
		check(true, "a FUSE mount has a server # SKIP no FUSE mount in a new namespace: %s",
		      strerror(errno));
		return;
	}
	test_fuse_mount(USER, folder, fuse);
	close(fuse);
	fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	test_fuse_mount(0, folder, fuse);
	close(fuse);
}
