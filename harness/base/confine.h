/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/delegate_open.h"
#include "harness/base/error.h"

/* Reads untrusted files in a harmless process: without root, without capabilities, with only the
 * system calls for reading files and writing to open ones (docs/threat-model.md). Its parent, the
 * waiting process, opens the files for it that struct jp_confine names. */
struct jp_confine {
	struct jp_readable readable; /* the files that the confined process may read */
	/* Another socket that the confined process may use for messages; 0: none. The waiting
	 * process closes its copy, so that the peer sees an end of file when the confined process
	 * ends. */
	int channel;
	/* Called in the waiting process after the confined process ended with @status; returns the
	 * waiting process's exit status. NULL: use @status. */
	int (*choose_status)(void *context, int status);
	void *context;
};

/* Returns twice, like fork(): 0 in the confined process, which goes on and exits; then 1 in the
 * waiting process, which must exit with *@status. Returns -errno and a message if the process could
 * not be confined or forked. Open outputs (jp_new_file, jp_output_folder) before this call. */
int jp_confine_enter(const struct jp_confine *confine, int *status, struct jp_error *err);
