/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

#include "harness/base/exits.h"
#include "harness/base/registry.h"

/* A subcommand `jitproof NAME ...`. @run gets argv with argv[0] = NAME and returns the exit
 * status. */
struct jp_command {
	const char *name;
	const char *synopsis; /* "list [GLOB...]" */
	const char *help;     /* one line; NULL: hidden */
	int (*run)(int argc, char **argv);
	void (*print_more)(FILE *out); /* prints the help below the options; NULL: nothing */
};
