/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"

/* The online CPUs; their number, or -errno. The caller frees. */
int jp_cpus_online(int **cpus, struct jp_error *err);
