/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "workloads/emit/arch.h"

/* Writes the code of @shape to @out (@capacity bytes; NULL: only measure). Returns 0 or -ENOSPC. */
int jp_shape_emit(enum jp_shape shape, unsigned char *out, size_t capacity,
		  struct jp_emitted *emitted);
