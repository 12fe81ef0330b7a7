/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/option.h"

/* Returns the options with which every workload publishes names; @context is unused. */
const struct jp_option *jp_workload_publish_rows(void *context);
