// SPDX-License-Identifier: GPL-2.0-only
/* Who reaches a lost page ends with a word, and only there. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "harness/base/exits.h"
#include "harness/base/lost_page.h"
#include "harness/selftest/support/scratch.h"

enum { PAGE = 4096, MOST = 4096 };

static const char *said;

static void leave(void)
{
	if (write(STDERR_FILENO, "left", 4) < 0)
		_exit(4);
}

/* Writes to what two mappings lack, of which one is watched. */
static void __attribute__((noreturn)) lose(bool watched)
{
	const struct jp_lost_page what = {"the file", "is full", leave};
	jp_cleanup_close int fd = memfd_create("lost", MFD_CLOEXEC);
	jp_cleanup_close int err_fd = open(said, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	const int prot = PROT_READ | PROT_WRITE;
	volatile char *map = mmap(NULL, PAGE, prot, MAP_SHARED, fd, 0);
	volatile char *other = mmap(NULL, PAGE, prot, MAP_SHARED, fd, 0);

	if (dup2(err_fd, STDERR_FILENO) < 0 || map == MAP_FAILED || other == MAP_FAILED ||
	    jp_lost_page_watch((void *)map, 1, &what))
		_exit(1);
	(watched ? map : other)[PAGE - 1] = 1;
	_exit(2);
}

static int status_of(bool watched)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid)
		lose(watched);
	return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

int main(void)
{
	const struct jp_lost_page what = {"many", "", NULL};
	static char bytes[MOST + 1];
	int status, watched = 0;
	char text[200];

	said = scratch_make("said");
	status = status_of(true);
	check(WIFEXITED(status) && WEXITSTATUS(status) == JP_EXIT_BROKEN, "status %x", status);
	check(jp_file_text(said, text, sizeof(text)) > 0 &&
		      !strcmp(text, "jitproof: the file: is full\nleft"),
	      "%s", text);
	status = status_of(false);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS, "a fault of others kills");
	while (watched <= MOST && !jp_lost_page_watch(bytes + watched, 1, &what))
		watched++;
	check(watched == MOST, "%d are watched at most", watched);
	check(jp_lost_page_watch(bytes + MOST, 1, &what) == -EMFILE, "one more is refused");
	check(jp_lost_page_end(bytes + 7) == PAGE && !jp_lost_page_end(bytes + 7) &&
		      !jp_lost_page_end(NULL),
	      "one ends once");
	check(!jp_lost_page_watch(bytes + MOST, 1, &what), "its place is free");
	return check_done();
}
