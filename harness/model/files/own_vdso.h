/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

#include "harness/base/error.h"

/* Returns this process's vDSO, an ELF image in memory, and stores its size, which only its headers
 * state. Returns NULL and a message if there is none. */
const void *jp_get_own_vdso(size_t *size, struct jp_error *err);
