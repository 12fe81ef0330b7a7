/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/event.h"

/* A number for @size bytes, and what @digest was made of; 0: nothing yet. */
uint64_t jp_digest(uint64_t digest, const void *bytes, size_t size);
/* A number for all that @event, a sample, says, and its event was asked for. The sum of those of a
 * file is the same for another one that has the same samples in any order. */
uint64_t jp_sample_digest(const struct jp_event *event);
