// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "harness/command.h"

static int usage(FILE *out)
{
	const struct jp_command *command;

	fputs("usage: jitproof COMMAND [ARGUMENT...]\n\n", out);
	for (size_t i = 0; (command = jp_registry_at(JP_COMMAND, i)); i++)
		fprintf(out, "  %-56s %s\n", command->synopsis, command->help);
	return out == stdout ? JP_EXIT_OK : JP_EXIT_USAGE;
}

int main(int argc, char **argv)
{
	const struct jp_command *command;

	if (!jp_registry_at(JP_COMMAND, 0)) {
		fputs("jitproof: no command is registered: the build is broken\n", stderr);
		return JP_EXIT_BROKEN;
	}
	if (argc < 2)
		return usage(stderr);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0)
		return usage(stdout);
	command = jp_registry_find(JP_COMMAND, argv[1]);
	if (!command) {
		fprintf(stderr, "jitproof: no command '%s' (see jitproof --help)\n", argv[1]);
		return JP_EXIT_USAGE;
	}
	return command->run(argc - 1, argv + 1);
}
