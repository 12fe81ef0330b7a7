/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/case/case.h"

/*
 * jp_cases_read(), and each case can be run by this binary as far as names tell: its workload,
 * capture, common options, boundary and publisher are registered.
 */
struct jp_cases *jp_cases_load(const char *dir, struct jp_error *err);
