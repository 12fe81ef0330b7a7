// SPDX-License-Identifier: GPL-2.0-only
/* Tests that a mapped file which shrinks ends the process with a message and removes the unfinished
 * output. */
#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>

#include "harness/base/exits.h"
#include "harness/base/mapped_file.h"
#include "harness/base/new_file.h"
#include "harness/selftest/support/in_child.h"
#include "harness/selftest/support/scratch.h"

static const char *path, *messages;

/* Makes a file of three pages. Returns a descriptor, or -1. */
static int make_pages(void)
{
	static const char page[4096];

	return scratch_write(path, page, sizeof(page)) && !truncate(path, 3 * sizeof(page))
		       ? open(path, O_RDWR | O_CLOEXEC)
		       : -1;
}

static void __attribute__((noreturn)) read_lost_page(bool in_ours)
{
	jp_cleanup_close int fd = make_pages(),
			     err_fd = open(messages, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	const volatile char *map = jp_mapped_file(fd, "the input", 2 * 4096 + 1, NULL);
	const volatile char *plain_map = mmap(NULL, 3 * 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	struct jp_new_file half;

	if (err_fd < 0 || dup2(err_fd, 2) < 0 || !map || plain_map == MAP_FAILED || map[8192] ||
	    jp_new_file_open(&half, scratch_path("half"), 0600, NULL) < 0 || ftruncate(fd, 4096))
		_exit(1);
	/* Read past the mapping's last byte, as vector instructions do. */
	_exit((in_ours ? map : plain_map)[8192 + 200] ? 2 : 3);
}

static bool no_output_is_left(void)
{
	jp_cleanup_closedir DIR *dir = opendir(scratch_folder());
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, "half", 4))
			return false;
	return dir;
}

static void test_file_that_shrinks(void)
{
	int status = run_in_child(read_lost_page, true);
	char text[200];

	check(WIFEXITED(status) && WEXITSTATUS(status) == JP_EXIT_BROKEN,
	      "reading a lost page exits: wait status %x", status);
	check(jp_file_read_text(messages, text, sizeof(text)) > 0 &&
		      strstr(text, "the input: became shorter"),
	      "the loss is reported: %s", text);
	check(no_output_is_left(), "the unfinished output is removed");
	status = run_in_child(read_lost_page, false);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS, "a fault elsewhere kills it");
}

static void test_check(void)
{
	jp_cleanup_close int fd = make_pages();
	struct jp_error err = {""};
	enum { MOST = 4096 };
	static const void *maps[MOST + 1];
	size_t count = 0;

	while (count <= MOST && (maps[count] = jp_mapped_file(fd, "many", 4096, &err)))
		count++;
	check(count == MOST && strstr(err.text, "many"), "%zu files can be mapped at a time: %s",
	      count, err.text);
	while (count)
		jp_mapped_file_end(maps[--count]);
	maps[0] = jp_mapped_file(fd, "again", 3 * 4096, &err);
	check(maps[0] && !jp_mapped_file_check(fd, "again", 3 * 4096, &err),
	      "an unchanged file passes the check");
	check(!ftruncate(fd, 3 * 4096 - 1) &&
		      jp_mapped_file_check(fd, "again", 3 * 4096, &err) == -ENODATA,
	      "a shortened file fails the check: %s", err.text);
	jp_mapped_file_end(maps[0]);
	jp_mapped_file_end(NULL);
	check(!jp_mapped_file(-1, "none", 1, &err) && strstr(err.text, "none"),
	      "a bad descriptor is an error: %s", err.text);
}

TEST(mapped_file)
{
	path = scratch_make("file");
	messages = scratch_path("said");
	test_file_that_shrinks();
	test_check();
}
