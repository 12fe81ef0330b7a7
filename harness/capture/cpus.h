/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"

/* Stores the numbers of the online CPUs in *@cpus, which the caller frees. Returns how many there
 * are, or -errno and a message. */
int jp_cpus_online(int **cpus, struct jp_error *err);
