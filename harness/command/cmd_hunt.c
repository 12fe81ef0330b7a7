// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/arguments.h"
#include "harness/base/path.h"
#include "harness/base/trusted_path.h"
#include "harness/command/command.h"
#include "harness/command/command_line.h"

/* Passes an option with its value on to the program ci/hunt, which checks the value. */
static int pass_option_on(const struct jp_option *option, const char *text, struct jp_error *err)
{
	jp_arguments_add(option->context, "%s", option->name);
	jp_arguments_add(option->context, "%s", text);
	return 0;
}

static bool parse(struct jp_arguments *arguments, int argc, char **argv, int *status)
{
	bool keeps_file = false;
	const struct jp_option options[] = {
		{"--minutes", NULL, "N", .parse = pass_option_on, .context = arguments,
		 .help = "start no crossing (combination of options) after N minutes (default: "
			 "10)"},
		{"--crossings", NULL, "N", .parse = pass_option_on, .context = arguments,
		 .help = "end after N crossings (combinations of options)"},
		{"--seed", NULL, "N", .parse = pass_option_on, .context = arguments,
		 .help = "number that chooses the crossings and varies loop lengths (default: that "
			 "of DIR, else a random one, which hunt prints)"},
		{"-o", NULL, "DIR", .parse = pass_option_on, .context = arguments,
		 .help = "folder that stores the progress, and from which hunt continues (default: "
			 "build/hunt)"},
		{"--jobs", "-j", "N", .parse = pass_option_on, .context = arguments,
		 .help = "run N crossings at once (default: one for each CPU)"},
		{"--keep", .set = &keeps_file,
		 .help = "keep the run directories of failures in the folder kept of DIR"},
		{"--perf", NULL, "WANTED", .parse = pass_option_on, .context = arguments,
		 .help = "also use this perf, repeatable: a Debian suite, a version, or installed "
			 "(default: only the capture and inject of jitproof)"},
		{"--perf-dir", NULL, "DIR", .parse = pass_option_on, .context = arguments,
		 .help = "folder of the perfs of Debian suites (default: build/perf)"},
		{0}};

	if (!jp_command_line(options, argc, argv, status))
		return false;
	if (keeps_file)
		jp_arguments_add(arguments, "--keep");
	return true;
}

/* Stores in @exe the path of this program, and in @hunt the path of ci/hunt, to which the build
 * makes a link. */
static int find_programs(char *exe, char *hunt, struct jp_error *err)
{
	char linked[PATH_MAX];
	const ssize_t length = readlink("/proc/self/exe", exe, PATH_MAX - 1);

	if (length < 0)
		return jp_fail(err, errno, "/proc/self/exe: %s", strerror(errno));
	exe[length] = '\0';
	return jp_path_build(linked, sizeof(linked), err, "%.*s/hunt",
			     (int)(jp_path_base(exe) - exe), exe)
		       ?: jp_trusted_find_programs(linked, hunt, PATH_MAX, err);
}

static int hunt(int argc, char **argv)
{
	jp_cleanup_arguments struct jp_arguments arguments = {0};
	char exe[PATH_MAX], program[PATH_MAX];
	struct jp_error err = {""};
	int status;

	jp_arguments_add(&arguments, "python3");
	jp_arguments_add(&arguments, "-B");
	if (find_programs(exe, program, &err))
		program[0] = '\0';
	jp_arguments_add(&arguments, "%s", program);
	jp_arguments_add(&arguments, "--jitproof=%s", exe);
	if (!parse(&arguments, argc, argv, &status))
		return status;
	if (!program[0])
		return jp_command_fail("hunt", &err);
	if (arguments.failed)
		return jp_command_fail("hunt", &(struct jp_error){"out of memory"});
	execvp("python3", arguments.list);
	jp_fail(&err, errno, "python3: %s", strerror(errno));
	return jp_command_fail("hunt", &err);
}

JP_DEFINE(command, hunt_command) = {
	.name = "hunt",
	.synopsis = "hunt [OPTION...]",
	.help = "run random combinations, and report failures that no case knows",
	.run = hunt,
};
