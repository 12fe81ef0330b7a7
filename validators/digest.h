/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/event.h"

/* Returns a digest of sample @event and of its event's attributes. The sum of all digests does not
 * depend on the order of samples. */
uint64_t jp_sample_digest(const struct jp_event *event);
