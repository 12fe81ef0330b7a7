/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

/* Whether nothing in the folder @path can be run, since it is mounted noexec; then answers the
 * handshake with "skip" and the remedy. */
bool jp_noexec_skips(const char *path);
