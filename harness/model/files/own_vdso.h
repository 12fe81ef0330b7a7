/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

#include "harness/base/error.h"

/* This process's vDSO, an ELF file in memory; only its own headers give its size. NULL and a
 * message where there is none. */
const void *jp_own_vdso(size_t *size, struct jp_error *err);
