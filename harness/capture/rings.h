/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_CAPTURE_RINGS_H
#define JP_CAPTURE_RINGS_H

#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"
#include "harness/capture/events.h"
#include "harness/format/perfdata/ring.h"

struct jp_session;

struct jp_ring { /* one per CPU and stream */
	int fd;  /* of the event that owns it and never counts */
	int cpu;
	enum jp_stream stream;
	struct jp_perf_ring records;
};

/* Maps them, and takes the rate down to what they hold. */
int jp_rings_open(struct jp_session *session, struct jp_error *err);
void jp_rings_close(struct jp_session *session);

#endif
