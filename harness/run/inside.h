/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"

/*
 * Runs @act(@context) like a profiler in a container: as the first process of @depth nested pid and
 * mount namespaces, with a /proc of its own. A user other than root also gets user namespaces and
 * is root inside. @act's changes of memory are lost unless it is shared. Forwards a signal to us
 * (harness/base/interrupt.h) and still waits until @act ends.
 *
 * Returns @act's result, 0 to 99; -EOPNOTSUPP and the missing feature if such namespaces cannot be
 * made; -ECHILD if the process was killed.
 */
int jp_inside_run(unsigned int depth, int (*act)(void *context), void *context,
		  struct jp_error *err);
