/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"

/*
 * Runs @act(@context) as the first process of a pid and a mount namespace, @depth of them nested,
 * with a /proc of its own: what a profiler in a container is. Others than root get user namespaces
 * around them, and are root in there. What @act leaves in memory is lost unless it is shared.
 *
 * Returns @act's result, 0..99. -EOPNOTSUPP and what is missing where there are no such namespaces;
 * -ECHILD where it was killed. A signal to us (harness/base/interrupt.h) is passed on to it, and it
 * is waited for all the same.
 */
int jp_inside(unsigned int depth, int (*act)(void *context), void *context, struct jp_error *err);
