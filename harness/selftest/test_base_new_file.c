// SPDX-License-Identifier: GPL-2.0-only
/* A file takes its name when it is whole, and nobody else's place. */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/new_file.h"
#include "harness/selftest/check.h"
#include "harness/selftest/scratch.h"

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
	check(holds(path, "old") && entries() == 2, "the old one stays until then");
	check(!jp_new_file_keep(&file, &err) && holds(path, "new") && entries() == 1,
	      "it takes its place");
	check(!jp_file_write(other, "more", 4) && holds(path, "new") && !stat(path, &st) &&
		      (st.st_mode & 07777 & ~0640u) == 0,
	      "who had the old one open cannot write into it");
	jp_new_file_drop(&file);
	check(holds(path, "new"), "what was kept is not dropped");
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
	check(holds(path, "new") && entries() == 3, "nothing is left behind");
}

int main(void)
{
	const char *path = scratch_make("file");

	whole(path);
	not_whole(path);
	refused(path);
	return check_done();
}
