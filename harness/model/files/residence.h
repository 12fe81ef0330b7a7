/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

/* The root and pid of a process, which may be in another mount namespace. */
struct jp_residence {
	int root;       /* descriptor of its root directory if that differs from ours, else -1 */
	uint32_t inner; /* its pid in its own namespace */
};
/* Stores the residence of @pid in @residence, which the caller initializes to ours. Leaves it if
 * the process is gone or may not be inspected. The caller closes its root. */
void jp_residence_of(uint32_t pid, struct jp_residence *residence);
