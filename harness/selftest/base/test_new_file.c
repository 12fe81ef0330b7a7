// SPDX-License-Identifier: GPL-2.0-only
/* Tests that a new file gets its name when it is complete, and that it replaces only permitted
 * files. */
#include <dirent.h>
#include <limits.h>
#include <sys/inotify.h>

#include "harness/base/new_file.h"
#include "harness/selftest/support/scratch.h"

static int count_entries(void)
{
	jp_cleanup_closedir DIR *dir = opendir(scratch_folder());
	int count = -2;

	while (dir && readdir(dir))
		count++;
	return count;
}

static bool file_has(const char *path, const char *text)
{
	char content[32];

	return jp_file_read_text(path, content, sizeof(content)) >= 0 && !strcmp(content, text);
}

static void test_replacement(const char *path)
{
	jp_cleanup_close int old_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	struct jp_new_file file;
	struct jp_error err = {""};
	int fd = jp_new_file_open(&file, path, 0640, &err);
	struct stat st;

	check(old_fd >= 0 && fd >= 0 && !jp_file_write(old_fd, "old", 3) &&
		      !jp_file_write(fd, "new", 3) && !close(fd),
	      "a new file is written beside the old %s", err.text);
	check(file_has(path, "old") && count_entries() == 1,
	      "the old file stays and no temporary file is visible");
	check(!jp_new_file_publish(&file, &err) && file_has(path, "new") && count_entries() == 1,
	      "the new file replaces the old");
	check(!jp_file_write(old_fd, "more", 4) && file_has(path, "new") && !stat(path, &st) &&
		      (st.st_mode & 07777) == 0640,
	      "writing to the old file does not change the new, and the mode is as requested");
	jp_new_file_discard(&file);
	check(file_has(path, "new"), "dropping a kept file does nothing");
}

/* A kill at any moment must leave no temporary file, so no other name may ever appear. */
static void test_no_temporary_name(const char *path)
{
	jp_cleanup_close int nr_seen = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	struct jp_error err = {""};
	struct jp_new_file file;
	jp_cleanup_close int fd = jp_new_file_open(&file, path, 0600, &err);
	_Alignas(struct inotify_event) char events[4096];
	ssize_t size;

	check(nr_seen >= 0 && fd >= 0 &&
		      inotify_add_watch(nr_seen, scratch_folder(), IN_CREATE | IN_MOVE) >= 0 &&
		      !jp_new_file_publish(&file, &err),
	      "a watched file is made %s", err.text);
	size = read(nr_seen, events, sizeof(events));
	if (size < (ssize_t)sizeof(struct inotify_event)) {
		check(false, "the file's name appears");
		return;
	}
	check(!strcmp(((struct inotify_event *)events)->name, strrchr(path, '/') + 1) &&
		      size == (ssize_t)(sizeof(struct inotify_event) +
					((struct inotify_event *)events)->len),
	      "no other name than %s ever appeared", ((struct inotify_event *)events)->name);
	unlink(path);
}

static void test_drop(const char *path)
{
	struct jp_new_file file;
	struct jp_error err = {""};
	jp_cleanup_close int fd = jp_new_file_open(&file, path, 0600, &err);

	check(fd >= 0 && !jp_file_write(fd, "half", 4), "an incomplete file is written");
	jp_new_file_discard(&file);
	check(file_has(path, "new") && count_entries() == 1, "the old file is back, alone");
}

/* A file whose content must survive a kill has its name from the start. */
static void test_at_once(const char *path)
{
	struct jp_error err = {""};
	jp_cleanup_close int old = open(path, O_RDONLY | O_CLOEXEC);
	jp_cleanup_close int fd = jp_new_file_create_named(path, 0600, &err);
	char byte;

	check(fd >= 0 && count_entries() == 1 && file_has(path, ""),
	      "the new file is visible at once, empty %s", err.text);
	check(!jp_file_write(fd, "more", 4) && file_has(path, "more"), "its content is visible");
	check(read(old, &byte, 1) == 1 && byte == 'n', "an open descriptor reads the old file");
}

TEST(remove_if_same)
{
	const char *path = scratch_path("undone");
	struct jp_error err = {""};
	jp_cleanup_close int lost = jp_new_file_create_named(path, 0600, &err);
	jp_cleanup_close int fd = jp_new_file_create_named(path, 0600, &err);

	check(lost >= 0 && fd >= 0 && !jp_file_write(fd, "new", 3),
	      "a second file replaces the first %s", err.text);
	jp_new_file_remove_if_same(path, lost);
	check(file_has(path, "new"), "undoing the first keeps the second");
	jp_new_file_remove_if_same(path, fd);
	check(access(path, F_OK), "undoing the second removes it");
	jp_new_file_remove_if_same(path, fd);
}

static void test_longest_name(void)
{
	char path[sizeof(scratch) + NAME_MAX + 2];
	struct jp_new_file file;
	struct jp_error err = {""};
	int fd;

	snprintf(path, sizeof(path), "%s/%0*d", scratch_folder(), NAME_MAX, 1);
	fd = jp_new_file_create_named(path, 0600, &err);
	check(fd >= 0 && !close(fd) && file_has(path, ""),
	      "a name of NAME_MAX bytes works at once %s", err.text);
	fd = jp_new_file_open(&file, path, 0600, &err);
	check(fd >= 0 && !jp_file_write(fd, "new", 3) && !close(fd) &&
		      !jp_new_file_publish(&file, &err) && file_has(path, "new"),
	      "a name of NAME_MAX bytes works on completion %s", err.text);
	check(!unlink(path) && count_entries() == 1, "the folder is clean again");
	snprintf(path, sizeof(path), "%s/%0*d", scratch_folder(), NAME_MAX + 1, 1);
	check(jp_new_file_open(&file, path, 0600, &err) == -ENAMETOOLONG,
	      "a longer name is refused: %.80s", err.text);
}

static void test_swapped_folder(void)
{
	const char *folder = scratch_path("folder"), *moved_folder = scratch_path("moved");
	const char *path = scratch_path("folder/file");
	struct jp_new_file file;
	struct jp_error err = {""};
	int fd;

	check(!mkdir(folder, 0700), "a folder is made");
	fd = jp_new_file_open(&file, path, 0600, &err);
	check(fd >= 0 && !jp_file_write(fd, "new", 3) && !close(fd) &&
		      !rename(folder, moved_folder) && !mkdir(folder, 0700),
	      "another folder takes its path %s", err.text);
	check(!jp_new_file_publish(&file, &err) && access(path, F_OK) &&
		      file_has(scratch_path("moved/file"), "new"),
	      "the file lands in the first folder");
	check(!unlink(scratch_path("moved/file")) && !rmdir(moved_folder) && !rmdir(folder),
	      "the folder is clean again");
	if (geteuid())
		return;
	check(!symlink("/", folder) && !lchown(folder, 12321, 12321) &&
		      jp_new_file_open(&file, path, 0600, &err) == -ELOOP && !unlink(folder),
	      "another user's symbolic link is not followed");
}

static void test_refusals(const char *path)
{
	struct jp_new_file file;
	struct jp_error err = {""};
	const char *link = scratch_path("link"), *fifo = scratch_path("fifo");

	check(!symlink(path, link) && !mkfifo(fifo, 0600), "a symbolic link and a FIFO are made");
	check(jp_new_file_open(&file, link, 0600, &err) == -EINVAL,
	      "a symbolic link is refused: %s", err.text);
	check(jp_new_file_open(&file, fifo, 0600, &err) == -EINVAL, "FIFO refused: %s", err.text);
	check(jp_new_file_open(&file, scratch_folder(), 0600, &err) == -EINVAL,
	      "a folder is refused: %s", err.text);
	check(jp_new_file_open(&file, scratch_path("none/file"), 0600, &err) == -ENOENT,
	      "a missing folder is an error: %s", err.text);
	jp_new_file_discard(&file);
	check(file_has(path, "more") && count_entries() == 3, "no other file is left behind");
}

TEST(new_file)
{
	const char *path = scratch_make("file");

	umask(0);
	test_no_temporary_name(path);
	test_replacement(path);
	test_drop(path);
	test_at_once(path);
	test_longest_name();
	test_swapped_folder();
	test_refusals(path);
}
