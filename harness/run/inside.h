/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"

/*
 * Runs @act(@context) in a child, like a profiler in a container: as the first process of @depth
 * nested pid and mount namespaces, with its own /proc. A user other than root also gets user
 * namespaces and is root inside. Forwards watched signals (harness/base/interrupt.h) to the child.
 *
 * Returns @act's result, 0 to 99; -EOPNOTSUPP and the missing feature if such namespaces cannot be
 * made; -ECHILD if the child was killed.
 */
int jp_inside_run(unsigned int depth, int (*act)(void *context), void *context,
		  struct jp_error *err);
