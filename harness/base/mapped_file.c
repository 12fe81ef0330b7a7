// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/mapped_file.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/exits.h"
#include "harness/base/new_file.h"

/* As many as are read at a time: a folder of perf record --threads has one for each CPU. */
enum { MOST = 4096 };

static struct mapped {
	const char *start, *end, *name;
} mapped[MOST];

static void say(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return; /* there is nobody to tell */
}

/* Only what may be called in a signal's handler. */
static void on_fault(int signal, siginfo_t *info, void *context)
{
	const char *at = info->si_addr;

	for (size_t i = 0; i < MOST; i++) {
		if (!mapped[i].start || at < mapped[i].start || at >= mapped[i].end)
			continue;
		say("jitproof: ");
		say(mapped[i].name);
		say(": became shorter, or could not be read, while it was read\n");
		jp_new_file_drop_all();
		_exit(JP_EXIT_BROKEN);
	}
	/* Not ours: the instruction faults again, as usual now. */
	sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
}

const void *jp_mapped_file(int fd, const char *name, uint64_t size, struct jp_error *err)
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	size_t i = 0;
	void *map;

	while (i < MOST && mapped[i].start)
		i++;
	map = i < MOST && !sigaction(SIGBUS, &action, NULL)
		      ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0)
		      : MAP_FAILED;
	if (map == MAP_FAILED) {
		jp_fail(err, i < MOST ? errno : EMFILE, "%s: cannot map %llu bytes: %s", name,
			(unsigned long long)size, strerror(i < MOST ? errno : EMFILE));
		return NULL;
	}
	/* Functions of the C library look at all of the last page. */
	mapped[i] = (struct mapped){map, (char *)map + (size + page - 1) / page * page, name};
	return map;
}

int jp_mapped_file_check(int fd, const char *name, uint64_t size, struct jp_error *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return jp_fail(err, errno, "%s: %s", name, strerror(errno));
	if ((uint64_t)st.st_size >= size)
		return 0;
	return jp_fail(err, ENODATA,
		       "%s: became shorter while it was read: from %llu bytes to %llu", name,
		       (unsigned long long)size, (unsigned long long)st.st_size);
}

void jp_mapped_file_end(const void *map)
{
	for (size_t i = 0; i < MOST; i++) {
		if (!map || mapped[i].start != map)
			continue;
		munmap((void *)map, mapped[i].end - mapped[i].start);
		mapped[i] = (struct mapped){0};
		return;
	}
}
