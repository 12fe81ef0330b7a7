// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "harness/command/command.h"
#include "harness/command/command_line.h"

static void print_commands(void)
{
	const struct jp_command *command = NULL;

	while ((command = jp_registry_next(JP_COMMAND, command)))
		if (command->help)
			printf("%s\t%s\n", command->name, command->help);
}

/* Prints the possible values of the last word after "jitproof", for the shells' completions
 * (packaging/completion/). */
static int complete(int argc, char **argv)
{
	const struct jp_command *command;

	if (argc <= 2)
		print_commands();
	else if ((command = jp_registry_find(JP_COMMAND, argv[1])) && command->help)
		jp_command_complete(command, argc - 1, argv + 1);
	return JP_EXIT_OK;
}

JP_DEFINE(command, complete_command) = {
	.name = "complete",
	.synopsis = "complete [WORD...] WORD",
	.run = complete,
};
