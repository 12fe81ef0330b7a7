// SPDX-License-Identifier: GPL-2.0-only
/* Tests that a SIGBUS in a watched mapping ends the process with a message, and that elsewhere it
 * kills the process. */
#include <signal.h>
#include <sys/mman.h>

#include "harness/base/exits.h"
#include "harness/base/lost_page.h"
#include "harness/selftest/support/in_child.h"
#include "harness/selftest/support/scratch.h"

enum { PAGE = 4096, MOST = 4096 };

static const char *messages;

static void write_at_exit(void)
{
	if (write(STDERR_FILENO, "left", 4) < 0)
		_exit(4);
}

/* Maps an empty file twice, watches the first mapping, and writes to one of them. */
static void __attribute__((noreturn)) touch_lost_page(bool is_watched)
{
	const struct jp_lost_page page_name = {"the file", "is full", write_at_exit};
	jp_cleanup_close int fd = memfd_create("lost", MFD_CLOEXEC);
	jp_cleanup_close int err_fd = open(messages, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	const int prot = PROT_READ | PROT_WRITE;
	volatile char *map = mmap(NULL, PAGE, prot, MAP_SHARED, fd, 0);
	volatile char *unwatched = mmap(NULL, PAGE, prot, MAP_SHARED, fd, 0);

	if (dup2(err_fd, STDERR_FILENO) < 0 || map == MAP_FAILED || unwatched == MAP_FAILED ||
	    jp_lost_page_watch((void *)map, 1, &page_name))
		_exit(1);
	(is_watched ? map : unwatched)[PAGE - 1] = 1;
	_exit(2);
}

TEST(lost_page)
{
	const struct jp_lost_page page_name = {"many", "", NULL};
	static char bytes[MOST + 1];
	int status, watched = 0;
	char text[200];

	messages = scratch_make("said");
	status = run_in_child(touch_lost_page, true);
	check(WIFEXITED(status) && WEXITSTATUS(status) == JP_EXIT_BROKEN,
	      "a fault in a watched mapping exits: wait status %x", status);
	check(jp_file_read_text(messages, text, sizeof(text)) > 0 &&
		      !strcmp(text, "jitproof: the file: is full\nleft"),
	      "the fault is reported: %s", text);
	status = run_in_child(touch_lost_page, false);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS, "a fault elsewhere kills it");
	while (watched <= MOST && !jp_lost_page_watch(bytes + watched, 1, &page_name))
		watched++;
	check(watched == MOST, "at most %d mappings are watched", watched);
	check(jp_lost_page_watch(bytes + MOST, 1, &page_name) == -EMFILE,
	      "one mapping more is refused");
	check(jp_lost_page_end(bytes + 7) == PAGE && !jp_lost_page_end(bytes + 7) &&
		      !jp_lost_page_end(NULL),
	      "a watch ends only once");
	check(!jp_lost_page_watch(bytes + MOST, 1, &page_name), "an ended watch frees its place");
}
