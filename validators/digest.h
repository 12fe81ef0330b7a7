/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/event.h"

/* A number for all that @event, a sample, says, and its event was asked for. The sum of those of a
 * file is the same for another one that has the same samples in any order. */
uint64_t jp_sample_digest(const struct jp_event *event);
