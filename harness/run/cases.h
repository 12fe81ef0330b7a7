/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/case/case.h"

/* Reads cases as jp_cases_read() does, and checks that this binary has their workload, capture,
 * common options, boundary and publisher. */
struct jp_cases *jp_cases_load(const char *dir, struct jp_error *err);
