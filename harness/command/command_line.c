// SPDX-License-Identifier: GPL-2.0-only
#include "harness/command/command_line.h"

#include <stdarg.h>
#include <sys/random.h>
#include <unistd.h>

#include "harness/base/foreign_proc.h"
#include "harness/command/command.h"

static void print_help(const struct jp_command *command, const struct jp_option *options)
{
	printf("usage: jitproof %s\n\n%s.\n\n", command->synopsis, command->help);
	jp_options_print(options, stdout);
	if (command->print_more)
		command->print_more(stdout);
}

static bool completes;

void jp_command_complete(const struct jp_command *command, int argc, char **argv)
{
	completes = true;
	command->run(argc, argv);
}

bool jp_command_line(const struct jp_option *options, int argc, char **argv, int *status)
{
	struct jp_error err;
	int ret;

	*status = JP_EXIT_OK;
	if (completes) {
		jp_options_complete(options, argc, argv);
		return false;
	}
	ret = jp_options_read(options, argc, argv, &err);
	if (ret > 0)
		print_help(jp_registry_find(JP_COMMAND, argv[0]), options);
	else if (ret)
		*status = jp_command_fail_usage(argv[0], "%s", err.text);
	return !ret;
}

bool jp_command_can_record(const char *command, int *status)
{
	if (!jp_is_proc_of_other_namespace())
		return true;
	fprintf(stderr,
		"jitproof %s: /proc belongs to another pid namespace, which has other pids for "
		"these processes (mount one of this namespace: unshare --mount-proc)\n",
		command);
	*status = JP_EXIT_BROKEN;
	return false;
}

int jp_command_fail_usage(const char *name, const char *fmt, ...)
{
	const struct jp_command *command = jp_registry_find(JP_COMMAND, name);
	va_list ap;

	fprintf(stderr, "jitproof %s: ", name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\nusage: jitproof %s (see jitproof %s --help)\n", command->synopsis, name);
	return JP_EXIT_USAGE;
}

int jp_command_fail(const char *command, const struct jp_error *err)
{
	fprintf(stderr, "jitproof %s: %s\n", command, err->text);
	return JP_EXIT_BROKEN;
}

uint64_t jp_draw_seed(void)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed = (uint64_t)getpid();
	return seed & UINT32_MAX;
}
