/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/delegate_open.h"
#include "harness/base/error.h"

/*
 * What others wrote is read in a process that can do no harm: without root, without capabilities,
 * with no call but those for reading files and for writing to what is open (docs/threat-model.md).
 * The process that it came from stays behind: it opens for it what was named beforehand.
 */
struct jp_confine {
	struct jp_readable readable; /* its input, and what else it may read */
	/* Another socket that messages may go through; 0: none. The process that stays has it no
	 * more, whatever comes of it: who waits for an answer sees the end. */
	int channel;
	/* In the process that stays, when the confined one has ended with @status: the status to
	 * end with. NULL: nothing is left to do. */
	int (*after)(void *context, int status);
	void *context;
};

/*
 * Returns twice, as fork(): 0 in the confined process, which goes on as usual and ends with a
 * status; 1, when it has, in the one that stayed, which is to end with *@status. -errno and a
 * message: neither is there. Outputs (jp_new_file, jp_output_folder) are opened before.
 */
int jp_confine_enter(const struct jp_confine *confine, int *status, struct jp_error *err);
