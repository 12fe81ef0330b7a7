/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

/* The root directory and pid of a process, which may be in another mount or pid namespace. */
struct jp_residence {
	int root; /* descriptor of its root directory if that differs from this process's, else -1
		   */
	uint32_t inner; /* pid of the process in its own pid namespace */
};
/* Stores the root and pid of process @pid in @residence, which the caller initializes with this
 * process's own. Does nothing if the process is gone or may not be inspected. The caller closes
 * @residence's root. */
void jp_residence_read(uint32_t pid, struct jp_residence *residence);
