/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

/* A process that may live in another mount namespace. */
struct jp_residence {
	int root;       /* what it has for a root, where that is not ours; else -1 */
	uint32_t inner; /* its pid there */
};
/* Where @pid lives; @residence, ours to start with, stays that of a process that is gone or that
 * may not be asked. The caller closes its root. */
void jp_residence_of(uint32_t pid, struct jp_residence *residence);
