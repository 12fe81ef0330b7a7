/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/map.h"
#include "harness/capture/events.h"
#include "harness/capture/rcu_grace.h"
#include "harness/format/perfdata/ring.h"
#include "harness/format/perfdata/write.h"

/* State of the events that a session opened itself, grouped by the source file that uses it. */

/* recording.c */
struct jp_ring { /* one per CPU and stream */
	int fd;  /* descriptor of the event that owns the ring and never counts */
	int cpu;
	enum jp_stream stream;
	struct jp_perf_ring records;
};

/* event_open.c */
struct jp_opened {
	int fd;
	pid_t tid; /* -1: all threads of @cpu */
	int cpu;
	enum jp_stream stream;
	uint64_t id;
	bool enabled;
};

/* The open events. Only the thread that runs the capture adds events, so it may read them without
 * the session's lock. */
struct jp_opened_events {
	struct jp_opened *list;
	size_t count, capacity;
	/* Id of any event of each stream, for records that we write ourselves. */
	uint64_t some_id[JP_STREAMS];
	uint64_t lost[JP_STREAMS];    /* PERF_FORMAT_LOST of closed events */
	uint64_t counted[JP_STREAMS]; /* counts of closed events */
};

/* drain.c */
/* The thread that reads the rings. */
struct jp_drain {
	pthread_t thread;
	bool runs;
	int wake, epoll, target_fd; /* -1: none */
	int interrupted;            /* atomic: set by jp_drain_interrupt() */
	int holds;                  /* atomic: calls of jp_drain_hold() */
	struct jp_grace grace;      /* grace period that was requested when the last round ended */

	/* Under the session's lock: */
	pid_t tid;
	uint64_t passes_wanted, passes_done;
	bool stopping;
	bool exited; /* the target's pidfd reported its exit, or the target has no pidfd */
	/* No round may end yet: records older than those written may still come. */
	bool hold_rounds;
	bool pending; /* records were written since the last round */
	uint64_t last_round;
};

/* received.c */
struct jp_event;
/* Functions that are called for each event written to the file, under the session's lock. */
struct jp_observer {
	void *context;
	void (*sample)(void *context, uint64_t id); /* @id: of its perf event; may be NULL */
	/* Returns 0 or -ENOMEM; may be NULL. */
	int (*sideband)(void *context, const struct jp_event *event);
};

/* State derived from the records read so far, under the session's lock. */
struct jp_received {
	struct jp_map ids;                /* event id -> struct jp_opened_for */
	struct jp_map owners[JP_STREAMS]; /* tid -> struct jp_event_owner */
	struct jp_map fork_times;         /* tid -> uint64_t, time of its FORK record */
	uint64_t first_sample, last_sample;
	uint64_t lost[JP_STREAMS];       /* numbers of lost records, from LOST records */
	uint64_t duplicates[JP_STREAMS]; /* numbers of duplicates left out */
	struct jp_observer observer;
};
struct jp_opened_for {
	int32_t tid; /* -1: all threads */
};

/* A session's own events: descriptors, rings, the drain's thread and the perf.data file. */
struct jp_recorder {
	struct jp_abilities abilities;
	struct perf_event_attr attr[JP_STREAMS];
	/* Layout of each stream's records; set together with @writer. */
	struct jp_perf_layout layout[JP_STREAMS];
	/* Samples per second, within the limits of the rings and of the kernel. */
	uint32_t frequency;
	struct jp_ring *rings; /* [stream * nr_cpus + index of cpu] */
	struct jp_drain drain;
	/* Under the session's lock. */
	struct jp_perfdata_writer *writer;
	struct jp_opened_events opened;
	struct jp_received received;
};
