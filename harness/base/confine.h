/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/delegate_open.h"
#include "harness/base/error.h"

/* Reads untrusted files in a harmless process: without root, without capabilities, with only the
 * system calls for reading files and writing to open ones (docs/threat-model.md). Its parent waits,
 * and opens files for it that were named beforehand. */
struct jp_confine {
	struct jp_readable readable; /* its input, and further files that it may read */
	/* A further socket for messages; 0: none. The waiting process closes it, so that the other
	 * end sees the end of the confined process. */
	int channel;
	/* Called in the waiting process when the confined one ended with @status; returns the exit
	 * status. NULL: nothing to do. */
	int (*after)(void *context, int status);
	void *context;
};

/* Returns twice, like fork(): 0 in the confined process, which goes on and exits; then 1 in the
 * waiting process, which must exit with *@status. Returns -errno and a message if there is no
 * confined process. Open outputs (jp_new_file, jp_output_folder) before. */
int jp_confine_enter(const struct jp_confine *confine, int *status, struct jp_error *err);
