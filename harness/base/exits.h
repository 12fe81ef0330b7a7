/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Exit statuses of commands and of our child processes. */
enum {
	JP_EXIT_OK = 0,
	JP_EXIT_BAD = 1, /* a requested check failed, such as a case or a limit */
	JP_EXIT_USAGE = 2,
	JP_EXIT_SKIPPED = 4, /* nothing that was requested could run here */
	/* The installation is broken, or the input could not be read completely. */
	JP_EXIT_BROKEN = 99
};
