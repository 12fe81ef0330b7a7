/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"

/*
 * Runs @act(@context) as the first process of a pid and a mount namespace, @depth of them nested,
 * with a /proc of its own, as a profiler in a container would run. Users other than root get user
 * namespaces around them and are root inside. Memory that @act changes is lost unless it is shared.
 *
 * Returns @act's result, 0 to 99; -EOPNOTSUPP and the missing feature if there are no such
 * namespaces; -ECHILD if it was killed. Passes a signal to us (harness/base/interrupt.h) on to it,
 * and still waits for its end.
 */
int jp_inside(unsigned int depth, int (*act)(void *context), void *context, struct jp_error *err);
