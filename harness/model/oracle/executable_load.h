/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"
#include "harness/model/oracle/executable.h"

/* 0; -EINVAL and a message where the truth contradicts itself; or -ENOMEM. */
int jp_executables_load(struct jp_executables *all, const struct jp_truth *truth,
			struct jp_error *err);
