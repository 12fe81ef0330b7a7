/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

/* Returns whether the directory @path is mounted noexec. If so, answers the handshake with "skip"
 * and the remedy. */
bool jp_noexec_skip_workload(const char *path);
