/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/case/case.h"

/* Reads cases as jp_cases_read() does, and checks that this binary has each workload, capture,
 * common option, boundary and publisher that they name. */
struct jp_cases *jp_cases_load(const char *dir, struct jp_error *err);
