/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/map.h"
#include "harness/capture/events.h"
#include "harness/capture/grace.h"
#include "harness/format/perfdata/ring.h"
#include "harness/format/perfdata/write.h"

/* The state of a session's own events, by the file that works on it. */

/* rings.c */
struct jp_ring { /* one per CPU and stream */
	int fd;  /* of the event that owns it and never counts */
	int cpu;
	enum jp_stream stream;
	struct jp_perf_ring records;
};

/* opened.c */
struct jp_opened {
	int fd;
	pid_t tid; /* -1: every thread of @cpu */
	int cpu;
	enum jp_stream stream;
	uint64_t id;
	bool enabled;
};

/* The events that are open. Only the thread that runs a policy adds to them, so that one reads
 * without the session's lock. */
struct jp_opened_events {
	struct jp_opened *list;
	size_t count, capacity;
	uint64_t some_id[JP_STREAMS]; /* an id of each, for records that we make ourselves */
	uint64_t lost[JP_STREAMS];    /* what PERF_FORMAT_LOST says of those that were closed */
	uint64_t counted[JP_STREAMS]; /* and what they counted */
};

/* drain.c */
/* The one thread that reads rings. */
struct jp_drain {
	pthread_t thread;
	bool runs;
	int wake, epoll, target_fd; /* -1: none */
	int interrupted;            /* atomic: jp_drain_interrupt() was called */
	int holds;                  /* atomic: of jp_drain_hold() */
	struct jp_grace grace;      /* since the last round ended */

	/* Under the session's lock. */
	pid_t tid;
	uint64_t passes_wanted, passes_done;
	bool stopping;
	bool gone;        /* the target's pidfd said so, or there is none */
	bool hold_rounds; /* records older than those already written may still come */
	bool pending;     /* records were written since the last round */
	uint64_t last_round;
};

/* heard.c */
struct jp_event;
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

/* A session's own events: descriptors, rings, the draining thread and the perf.data file. */
struct jp_recorder {
	struct jp_abilities abilities;
	struct perf_event_attr attr[JP_STREAMS];
	struct jp_perf_layout layout[JP_STREAMS]; /* of their records; set with the writer */
	uint32_t frequency;    /* after rings and the kernel's limit had their say */
	struct jp_ring *rings; /* [stream * nr_cpus + index of cpu] */
	struct jp_drain drain;
	/* Under the session's lock. */
	struct jp_perfdata_writer *writer;
	struct jp_opened_events opened;
	struct jp_heard heard;
};
