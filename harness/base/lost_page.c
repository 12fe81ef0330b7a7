// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/lost_page.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/exits.h"

/* Most files that are mapped at once: a folder written by perf record --threads has a file for each
 * CPU. */
enum { MOST = 4096 };

static struct watched {
	const char *start, *end;
	struct jp_lost_page name;
} watched[MOST];

static void write_text(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return; /* A failed write is ignored: a signal handler cannot report it. */
}

/* Calls only functions that are allowed in a signal handler. */
static void handle_fault(int signal, siginfo_t *info, void *context)
{
	const char *pos = info->si_addr;

	for (size_t i = 0; i < MOST; i++) {
		const struct watched *range = &watched[i];

		if (!range->start || pos < range->start || pos >= range->end)
			continue;
		write_text("jitproof: ");
		write_text(range->name.name);
		write_text(": ");
		write_text(range->name.trouble);
		write_text("\n");
		if (range->name.leave)
			range->name.leave();
		_exit(JP_EXIT_BROKEN);
	}
	/* The page is in no watched file: return, so that the instruction faults again, with the
	 * default action. */
	sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
}

int jp_lost_page_watch(const void *map, uint64_t size, const struct jp_lost_page *page_name)
{
	struct sigaction action = {.sa_sigaction = handle_fault, .sa_flags = SA_SIGINFO};
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const char *start = map;
	size_t i = 0;

	while (i < MOST && watched[i].start)
		i++;
	if (i == MOST)
		return -EMFILE;
	if (sigaction(SIGBUS, &action, NULL))
		return -errno;
	/* Round up to pages: functions of the C library may read all of the last page. */
	watched[i] = (struct watched){start, start + (size + page - 1) / page * page, *page_name};
	return 0;
}

size_t jp_lost_page_end(const void *map)
{
	for (size_t i = 0; i < MOST; i++) {
		const size_t size = watched[i].end - watched[i].start;

		if (!map || watched[i].start != map)
			continue;
		watched[i] = (struct watched){0};
		return size;
	}
	return 0;
}
