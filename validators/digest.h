/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/event.h"

/* Returns a digest of the sample @event and of the attributes (perf_event_attr) of its perf event.
 * Add up the digests of all samples: the sum does not depend on the order of samples. */
uint64_t jp_sample_digest(const struct jp_event *event);
