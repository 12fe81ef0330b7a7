// SPDX-License-Identifier: GPL-2.0-only
/* Files to be executed must be in places where no other user can write. */
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "harness/base/trusted_path.h"
#include "harness/selftest/support/scratch.h"

enum { USER = 12321 };

static char folder[128], file[128];

/* Checks that jp_trusted_find_file() gives @answer and the file's real path or, on error, @reason.
 */
static void check_file(const char *path, int answer, const char *reason, const char *label)
{
	struct jp_error err = {""};
	char target[4096] = "";
	int got = jp_trusted_find_file(path, target, sizeof(target), &err);

	check(got == answer && (got ? strstr(err.text, reason) != NULL : !strcmp(target, file)),
	      "%s: %s", label, got ? err.text : target);
}

static void test_modes(void)
{
	static const struct {
		mode_t folder, file;
		int answer;
		const char *reason, *label;
	} rows[] = {
		{0755, 0644, 0, "", "a file only its owner can write is trusted"},
		{0755, 0646, -EPERM, "script.py can be written to by anyone",
		 "a file anyone can write is refused"},
		{0757, 0644, -EPERM, "folder can be written to by anyone",
		 "a file in a folder anyone can write is refused"},
		{01777, 0644, 0, "", "a file in a sticky folder is trusted"},
		{0775, 0664, 0, "", "a file its own group can write is trusted"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (check(!chmod(folder, rows[i].folder) && !chmod(file, rows[i].file),
			  "modes %o and %o are set", rows[i].folder, rows[i].file))
			check_file(file, rows[i].answer, rows[i].reason, rows[i].label);
	check(!chmod(folder, 0755) && !chmod(file, 0644), "ownership and modes are restored");
}

static void test_other_users(void)
{
	if (geteuid()) {
		check(true, "another user's file is refused # SKIP only root can give a file away");
		return;
	}
	check(!chown(file, 65534, 0), "the file belongs to another user");
	check_file(file, -EPERM, "script.py belongs to another user", "another user's is refused");
	check(!chown(file, 0, 65534) && !chmod(file, 0664), "another group can write the file");
	check_file(file, -EPERM, "script.py can be written to by a group",
		   "another group's file is refused");
	check(!chown(file, 0, 0) && !chown(folder, 65534, 0), "the folder belongs to another user");
	check_file(file, -EPERM, "folder belongs to another user",
		   "a file in another user's folder is refused");
	check(!chown(folder, 0, 0), "ownership and modes are restored");
}

/* @link: a symbolic link to the file. */
static void test_links(const char *link)
{
	check_file(link, 0, "", "a symbolic link is resolved");
	if (geteuid()) {
		check(true, "another user's link is refused # SKIP only root can give a link away");
		return;
	}
	check(!lchown(link, 65534, 0), "the link belongs to another user");
	check_file(link, -EPERM, "another user's symbolic link", "another user's link is refused");
	check(!lchown(link, 0, 0), "ownership and modes are restored");
}

static void test_folders(const char *link)
{
	struct jp_error err = {""};
	char target[4096];

	check(!jp_trusted_find_folder(folder, target, sizeof(target), &err) &&
		      !strcmp(target, folder),
	      "a folder is trusted");
	check(jp_trusted_find_folder(link, target, sizeof(target), &err) == -EINVAL,
	      "a link to a file is not a folder: %s", err.text);
	check(!jp_trusted_find_folder("/", target, sizeof(target), &err) && !strcmp(target, "/"),
	      "the root folder is trusted");
	check(!jp_trusted_find_programs(folder, target, sizeof(target), &err) &&
		      !strcmp(target, folder),
	      "a folder is trusted for programs");
	check(!chmod(folder, 01777) &&
		      !jp_trusted_find_folder(folder, target, sizeof(target), &err) &&
		      jp_trusted_find_programs(folder, target, sizeof(target), &err) == -EPERM,
	      "a sticky folder is trusted, but not for programs: %s", err.text);
	check(!chmod(folder, 0777) &&
		      jp_trusted_find_folder(folder, target, sizeof(target), &err) == -EPERM,
	      "a folder anyone can write is refused: %s", err.text);
}

/* Serves a FUSE file system of one folder, which it claims to be root's, until it is unmounted. */
static void serve_folder(int fuse)
{
	static union {
		struct fuse_in_header head;
		char bytes[FUSE_MIN_READ_BUFFER + 4096];
	} request;
	static const struct fuse_attr root = {.ino = 1, .mode = S_IFDIR | 0755, .nlink = 1};

	while (read(fuse, &request, sizeof(request)) > 0) {
		struct {
			struct fuse_out_header head;
			union {
				struct fuse_init_out init;
				struct fuse_attr_out attr;
				struct fuse_statfs_out statfs;
			};
		} answer = {.head = {.len = sizeof(answer.head), .unique = request.head.unique}};

		if (request.head.opcode == FUSE_INIT) {
			answer.head.len += sizeof(answer.init);
			answer.init = (struct fuse_init_out){
				.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096};
		} else if (request.head.opcode == FUSE_GETATTR) {
			answer.head.len += sizeof(answer.attr);
			answer.attr.attr = root;
		} else if (request.head.opcode == FUSE_STATFS) {
			answer.head.len += sizeof(answer.statfs);
		} else {
			answer.head.error = -ENOSYS;
		}
		if (write(fuse, &answer, answer.head.len) < 0)
			continue; /* the process that sent the request has gone */
	}
	_exit(0);
}

/* Checks whether an open folder is trusted if a process of @user serves its file system. Returns
 * false if nothing can be mounted here. */
static bool check_served(const char *mount_point, uid_t user, bool is_trusted)
{
	const int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[96];
	pid_t server;
	int fd;

	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%u,group_id=0,allow_other",
		 fuse, user);
	if (fuse < 0 || mount("test", mount_point, "fuse", MS_NOSUID | MS_NODEV, options))
		return false;
	server = fork();
	if (!server)
		serve_folder(fuse);
	close(fuse);
	fd = open(mount_point, O_PATH | O_CLOEXEC);
	check(server > 0 && fd >= 0 && jp_trusted_open(fd) == is_trusted,
	      "an open folder that user %u serves is %strusted", user, is_trusted ? "" : "not ");
	close(fd);
	check(!umount2(mount_point, MNT_DETACH), "the mount is removed");
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	return true;
}

static void test_served_folder(void)
{
	const char *mount_point = scratch_path("served");

	if (geteuid() || unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || mkdir(mount_point, 0755) ||
	    !check_served(mount_point, 0, true))
		check(true,
		      "a served folder is refused # SKIP no FUSE mount in a new namespace: %s",
		      strerror(errno));
	else
		check(check_served(mount_point, USER, false), "a FUSE mount is made");
}

TEST(trusted_path)
{
	char link[160];

	snprintf(folder, sizeof(folder), "%s", scratch_make("folder"));
	snprintf(file, sizeof(file), "%.100s/script.py", folder);
	snprintf(link, sizeof(link), "%.100s/link", folder);
	check(!mkdir(folder, 0755) && scratch_write(file, "", 0) && !symlink("script.py", link),
	      "a file and a link to it are made");
	test_modes();
	test_other_users();
	test_links(link);
	check_file(folder, -EINVAL, "expected a regular file", "a folder is not a file");
	check_file("/nowhere/file", -ENOENT, "/nowhere/file", "a missing file is refused");
	test_folders(link);
	test_served_folder();
}
