// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness/base/interrupt.h"
#include "harness/base/printable.h"
#include "harness/command/command.h"

/* The Makefile defines both macros. */
#ifndef JP_COMMIT
#define JP_VERSION "unknown"
#define JP_COMMIT  "unknown"
#endif

static int print_version(void)
{
	/* The array has a fixed size, so that a longer commit name does not move other data. */
	static const char commit[64] = JP_COMMIT;

	printf("jitproof %s (%s)\n", JP_VERSION, commit);
	return JP_EXIT_OK;
}

static int print_usage(FILE *out)
{
	const struct jp_command *command = NULL;

	fputs("usage: jitproof COMMAND [ARGUMENT...]\n\n", out);
	while ((command = jp_registry_next(JP_COMMAND, command)))
		if (command->help)
			fprintf(out, "  %-10s%s\n", command->name, command->help);
	fputs("\njitproof COMMAND --help lists the options of COMMAND.\n"
	      "jitproof --version prints the version and the commit.\n",
	      out);
	return out == stdout ? JP_EXIT_OK : JP_EXIT_USAGE;
}

/* Opens /dev/null for standard descriptors that are closed: otherwise a file that we open could get
 * the number of standard output. */
static void fill_standard_descriptors(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/* Returns whether the stack may grow far enough. If not, the process would die without a
 * message. */
static bool has_stack(void)
{
	enum { LEAST = 1 << 20 };
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= LEAST)
		return true;
	fprintf(stderr,
		"jitproof: a stack of %llu bytes at most (ulimit -s): expected %d or more\n",
		(unsigned long long)limit.rlim_cur, LEAST);
	return false;
}

/* Checks that all output arrived. Returns the exit status. */
static int check_output(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	fputs("jitproof: cannot write to standard output\n", stderr);
	return JP_EXIT_BROKEN;
}

int main(int argc, char **argv)
{
	const struct jp_command *command;
	char hint[120];

	fill_standard_descriptors();
	if (!has_stack())
		return JP_EXIT_BROKEN;
	jp_interrupt_reset_inherited();
	jp_interrupt_ignore_size_limit();
	if (!jp_registry_next(JP_COMMAND, NULL)) {
		fputs("jitproof: no command is registered: the build is broken\n", stderr);
		return JP_EXIT_BROKEN;
	}
	if (argc < 2)
		return print_usage(stderr);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0)
		return check_output(print_usage(stdout));
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
		return check_output(print_version());
	command = jp_registry_find(JP_COMMAND, argv[1]);
	if (!command) {
		jp_registry_hint(JP_COMMAND, argv[1], hint, sizeof(hint));
		fprintf(stderr, "jitproof: no command '%s'%s (see jitproof --help)\n",
			jp_printable(argv[1]), hint);
		return JP_EXIT_USAGE;
	}
	return check_output(command->run(argc - 1, argv + 1));
}
