// SPDX-License-Identifier: GPL-2.0-only
/* A file takes its name when it is whole, and nobody else's place. */
#include <dirent.h>
#include <limits.h>
#include <sys/inotify.h>

#include "harness/base/new_file.h"
#include "harness/selftest/support/scratch.h"

static int entries(void)
{
	jp_cleanup_closedir DIR *dir = opendir(scratch);
	int count = -2;

	while (dir && readdir(dir))
		count++;
	return count;
}

static bool holds(const char *path, const char *text)
{
	char found[32];

	return jp_file_text(path, found, sizeof(found)) >= 0 && !strcmp(found, text);
}

static void whole(const char *path)
{
	jp_cleanup_close int other = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	struct jp_new_file file;
	struct jp_error err = {""};
	int fd = jp_new_file_open(&file, path, 0640, &err);
	struct stat st;

	check(other >= 0 && fd >= 0 && !jp_file_write(other, "old", 3) &&
		      !jp_file_write(fd, "new", 3) && !close(fd),
	      "a new one beside the old %s", err.text);
	check(holds(path, "old") && entries() == 1,
	      "the old one stays until then, and no half one");
	check(!jp_new_file_keep(&file, &err) && holds(path, "new") && entries() == 1,
	      "it takes its place");
	check(!jp_file_write(other, "more", 4) && holds(path, "new") && !stat(path, &st) &&
		      (st.st_mode & 07777) == 0640,
	      "who had the old one open cannot write into it, whoever may read it can");
	jp_new_file_drop(&file);
	check(holds(path, "new"), "what was kept is not dropped");
}

/* Who is killed at any moment leaves nothing beside it. */
static void under_one_name(const char *path)
{
	jp_cleanup_close int seen = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	struct jp_error err = {""};
	struct jp_new_file file;
	jp_cleanup_close int fd = jp_new_file_open(&file, path, 0600, &err);
	_Alignas(struct inotify_event) char events[4096];
	ssize_t size;

	check(seen >= 0 && fd >= 0 && inotify_add_watch(seen, scratch, IN_CREATE | IN_MOVE) >= 0 &&
		      !jp_new_file_keep(&file, &err),
	      "%s", err.text);
	size = read(seen, events, sizeof(events));
	if (size < (ssize_t)sizeof(struct inotify_event)) {
		check(false, "its name appears");
		return;
	}
	check(!strcmp(((struct inotify_event *)events)->name, strrchr(path, '/') + 1) &&
		      size == (ssize_t)(sizeof(struct inotify_event) +
					((struct inotify_event *)events)->len),
	      "no other name than %s was there", ((struct inotify_event *)events)->name);
	unlink(path);
}

static void not_whole(const char *path)
{
	struct jp_new_file file;
	struct jp_error err = {""};
	jp_cleanup_close int fd = jp_new_file_open(&file, path, 0600, &err);

	check(fd >= 0 && !jp_file_write(fd, "half", 4), "half a file");
	jp_new_file_drop(&file);
	check(holds(path, "new") && entries() == 1, "goes, and the old one stays");
}

/* What must not be lost with a kill has its name from the start. */
static void at_once(const char *path)
{
	struct jp_error err = {""};
	jp_cleanup_close int old = open(path, O_RDONLY | O_CLOEXEC);
	jp_cleanup_close int fd = jp_new_file_at_once(path, 0600, &err);
	char byte;

	check(fd >= 0 && entries() == 1 && holds(path, ""), "there, empty %s", err.text);
	check(!jp_file_write(fd, "more", 4) && holds(path, "more"), "and what is written so far");
	check(read(old, &byte, 1) == 1 && byte == 'n', "who has the old one open keeps it");
}

/* What is not wanted after all goes, unless another has its place by then. */
static void undone(void)
{
	const char *path = scratch_path("undone");
	struct jp_error err = {""};
	jp_cleanup_close int lost = jp_new_file_at_once(path, 0600, &err);
	jp_cleanup_close int fd = jp_new_file_at_once(path, 0600, &err);

	check(lost >= 0 && fd >= 0 && !jp_file_write(fd, "new", 3), "two %s", err.text);
	jp_new_file_undo(path, lost);
	check(holds(path, "new"), "the other stays");
	jp_new_file_undo(path, fd);
	check(access(path, F_OK), "this one goes");
	jp_new_file_undo(path, fd);
}

/* A name may be as long as names are. */
static void longest(void)
{
	char path[sizeof(scratch) + NAME_MAX + 2];
	struct jp_new_file file;
	struct jp_error err = {""};
	int fd;

	snprintf(path, sizeof(path), "%s/%0*d", scratch, NAME_MAX, 1);
	fd = jp_new_file_at_once(path, 0600, &err);
	check(fd >= 0 && !close(fd) && holds(path, ""), "at once %s", err.text);
	fd = jp_new_file_open(&file, path, 0600, &err);
	check(fd >= 0 && !jp_file_write(fd, "new", 3) && !close(fd) &&
		      !jp_new_file_keep(&file, &err) && holds(path, "new"),
	      "in the end %s", err.text);
	check(!unlink(path) && entries() == 1, "clean");
	snprintf(path, sizeof(path), "%s/%0*d", scratch, NAME_MAX + 1, 1);
	check(jp_new_file_open(&file, path, 0600, &err) == -ENAMETOOLONG, "no longer: %.80s",
	      err.text);
}

/* It lands where its folder was when it was begun, whatever is put there since. */
static void swapped(void)
{
	const char *folder = scratch_path("folder"), *moved = scratch_path("moved");
	const char *path = scratch_path("folder/file");
	struct jp_new_file file;
	struct jp_error err = {""};
	int fd;

	check(!mkdir(folder, 0700), "a folder");
	fd = jp_new_file_open(&file, path, 0600, &err);
	check(fd >= 0 && !jp_file_write(fd, "new", 3) && !close(fd) && !rename(folder, moved) &&
		      !mkdir(folder, 0700),
	      "another in its place %s", err.text);
	check(!jp_new_file_keep(&file, &err) && access(path, F_OK) &&
		      holds(scratch_path("moved/file"), "new"),
	      "is not written into");
	check(!unlink(scratch_path("moved/file")) && !rmdir(moved) && !rmdir(folder), "clean");
	if (geteuid())
		return;
	check(!symlink("/", folder) && !lchown(folder, 12321, 12321) &&
		      jp_new_file_open(&file, path, 0600, &err) == -ELOOP && !unlink(folder),
	      "nor is where another user's link leads");
}

static void refused(const char *path)
{
	struct jp_new_file file;
	struct jp_error err = {""};
	const char *link = scratch_path("link"), *fifo = scratch_path("fifo");

	check(!symlink(path, link) && !mkfifo(fifo, 0600), "a link and a FIFO");
	check(jp_new_file_open(&file, link, 0600, &err) == -EINVAL, "%s", err.text);
	check(jp_new_file_open(&file, fifo, 0600, &err) == -EINVAL, "%s", err.text);
	check(jp_new_file_open(&file, scratch, 0600, &err) == -EINVAL, "%s", err.text);
	check(jp_new_file_open(&file, scratch_path("none/file"), 0600, &err) == -ENOENT, "%s",
	      err.text);
	jp_new_file_drop(&file);
	check(holds(path, "more") && entries() == 3, "nothing is left behind");
}

int main(void)
{
	const char *path = scratch_make("file");

	umask(0);
	under_one_name(path);
	whole(path);
	not_whole(path);
	at_once(path);
	longest();
	swapped();
	refused(path);
	undone();
	return check_done();
}
