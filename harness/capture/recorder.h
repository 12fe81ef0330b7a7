/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_CAPTURE_RECORDER_H
#define JP_CAPTURE_RECORDER_H

#include "harness/capture/drain.h"
#include "harness/capture/events.h"
#include "harness/capture/heard.h"
#include "harness/capture/opened.h"
#include "harness/capture/rings.h"
#include "harness/format/perfdata/write.h"

struct jp_session;

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

/* Everything up to the attrs: what the kernel permits, and rings. */
int jp_recorder_open(struct jp_session *session, struct jp_error *err);
/* The perf.data file, which calls sampling events @name. */
int jp_recorder_create(struct jp_session *session, const char *name, struct jp_error *err);
/* Both, for samples by a clock; with @on_exec all events enable themselves at an exec. */
int jp_recorder_begin(struct jp_session *session, bool on_exec, struct jp_error *err);
/* The kernel's own mappings, where it is sampled; once an event is open. */
void jp_recorder_tell_kernel(struct jp_session *session);
/* From here on samples come: the file's rounds begin. */
void jp_recorder_sampling(struct jp_session *session);

/* The rest of a policy whose records are its own. */
void jp_recorder_stop(struct jp_session *session);
int jp_recorder_finish(struct jp_session *session, struct jp_error *err);
void jp_recorder_free(struct jp_session *session);

#endif
