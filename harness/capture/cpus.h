/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"

/* Lists the online CPUs; the caller frees. Returns their number, or -errno and a message. */
int jp_cpus_online(int **cpus, struct jp_error *err);
