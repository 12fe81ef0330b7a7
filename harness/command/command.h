/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_COMMAND_H
#define JP_COMMAND_H

#include "harness/base/registry.h"

/* One `jitproof NAME ...`. @run gets argv with argv[0] = NAME and returns the exit status. */
struct jp_command {
	const char *name;
	const char *synopsis; /* "list [GLOB...]" */
	const char *help;     /* one line */
	int (*run)(int argc, char **argv);
};

/* Exit status of a broken installation or of input that could not be read whole (DESIGN 5, 6). */
enum {
	JP_EXIT_OK = 0,
	JP_EXIT_BAD = 1,
	JP_EXIT_USAGE = 2,
	JP_EXIT_SKIPPED = 4,
	JP_EXIT_BROKEN = 99
};

#endif
