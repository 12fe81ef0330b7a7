/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_CAPTURE_HEARD_H
#define JP_CAPTURE_HEARD_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/map.h"
#include "harness/capture/events.h"

struct jp_event;
struct jp_session;

/* What looks at events as they are kept, under the session's lock. */
struct jp_observer {
	void *context;
	void (*sample)(void *context, uint64_t id); /* of the event; may be NULL */
	/* 0 or -ENOMEM; may be NULL */
	int (*sideband)(void *context, const struct jp_event *event);
};

/* What the rings told so far, under the session's lock. */
struct jp_heard {
	struct jp_map ids;                /* event id -> struct jp_opened_for */
	struct jp_map owners[JP_STREAMS]; /* tid -> struct jp_event_owner */
	struct jp_map fork_times;         /* tid -> uint64_t, of its FORK record */
	uint64_t first_sample, last_sample;
	uint64_t lost[JP_STREAMS];       /* what LOST records say */
	uint64_t duplicates[JP_STREAMS]; /* told twice, kept once */
	struct jp_observer observer;
};
struct jp_opened_for {
	int32_t tid; /* -1: all threads */
};

/* Writes what the rings hold; true where there was anything. */
bool jp_heard_drain(struct jp_session *session);
void jp_heard_free(struct jp_heard *heard);

#endif
