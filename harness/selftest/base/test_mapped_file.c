// SPDX-License-Identifier: GPL-2.0-only
/* A mapped file that becomes shorter ends the process with a word, and leaves nothing half. */
#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "harness/base/exits.h"
#include "harness/base/mapped_file.h"
#include "harness/base/new_file.h"
#include "harness/selftest/support/scratch.h"

static const char *path, *said;

/* A file of three pages, for reading and writing. */
static int make(void)
{
	static const char page[4096];

	return scratch_write(path, page, sizeof(page)) && !truncate(path, 3 * sizeof(page))
		       ? open(path, O_RDWR | O_CLOEXEC)
		       : -1;
}

static void __attribute__((noreturn)) read_what_is_gone(bool ours)
{
	jp_cleanup_close int fd = make(), err_fd = open(said, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	const volatile char *map = jp_mapped_file(fd, "the input", 2 * 4096 + 1, NULL);
	const volatile char *other = mmap(NULL, 3 * 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	struct jp_new_file half;

	if (err_fd < 0 || dup2(err_fd, 2) < 0 || !map || other == MAP_FAILED || map[8192] ||
	    jp_new_file_open(&half, scratch_path("half"), 0600, NULL) < 0 || ftruncate(fd, 4096))
		_exit(1);
	/* Behind the last byte, as vector instructions do. */
	_exit((ours ? map : other)[8192 + 200] ? 2 : 3);
}

static int status_of(bool ours)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid)
		read_what_is_gone(ours);
	return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

static bool nothing_half(void)
{
	jp_cleanup_closedir DIR *dir = opendir(scratch);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, "half", 4))
			return false;
	return dir;
}

static void shrinks(void)
{
	int status = status_of(true);
	char text[200];

	check(WIFEXITED(status) && WEXITSTATUS(status) == JP_EXIT_BROKEN, "status %x", status);
	check(jp_file_text(said, text, sizeof(text)) > 0 &&
		      strstr(text, "the input: became shorter"),
	      "%s", text);
	check(nothing_half(), "what was half written is gone");
	status = status_of(false);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS, "a fault of others kills");
}

static void looked_at(void)
{
	jp_cleanup_close int fd = make();
	struct jp_error err = {""};
	enum { MOST = 4096 };
	static const void *maps[MOST + 1];
	size_t count = 0;

	while (count <= MOST && (maps[count] = jp_mapped_file(fd, "many", 4096, &err)))
		count++;
	check(count == MOST && strstr(err.text, "many"), "%zu at a time: %s", count, err.text);
	while (count)
		jp_mapped_file_end(maps[--count]);
	maps[0] = jp_mapped_file(fd, "again", 3 * 4096, &err);
	check(maps[0] && !jp_mapped_file_check(fd, "again", 3 * 4096, &err), "as it was");
	check(!ftruncate(fd, 3 * 4096 - 1) &&
		      jp_mapped_file_check(fd, "again", 3 * 4096, &err) == -ENODATA,
	      "%s", err.text);
	jp_mapped_file_end(maps[0]);
	jp_mapped_file_end(NULL);
	check(!jp_mapped_file(-1, "none", 1, &err) && strstr(err.text, "none"), "%s", err.text);
}

int main(void)
{
	path = scratch_make("file");
	said = scratch_path("said");
	shrinks();
	looked_at();
	return check_done();
}
