/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"
#include "harness/model/oracle/executable.h"

/* Fills @executables from the acts and marks of @truth. Returns 0, -EINVAL and a message if the
 * truth contradicts itself, or -ENOMEM. */
int jp_executables_load(struct jp_executables *executables, const struct jp_truth *truth,
			struct jp_error *err);
