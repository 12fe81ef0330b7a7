/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/base/error.h"

struct jp_session;

/* Finds out what the kernel permits and opens the rings. The caller then fills the recorder's
 * attr[]. */
int jp_recorder_open(struct jp_session *session, struct jp_error *err);
/* Creates perf.data. @name: name of the sampling event in the file. */
int jp_recorder_create(struct jp_session *session, const char *name, struct jp_error *err);
/* Opens the recorder and creates perf.data for sampling by a clock. @on_exec: the events will be
 * enabled by an exec. */
int jp_recorder_begin(struct jp_session *session, bool on_exec, struct jp_error *err);
/* Writes records of the kernel's own mappings, if the kernel is sampled. An event must be open. */
void jp_recorder_write_kernel(struct jp_session *session);
/* Notes that the events of a launched command, which waits before its exec, are set up, and that
 * sampling has begun. Returns 0. */
int jp_recorder_note_enabled(struct jp_session *session);
/* Notes that sampling has begun, and permits FINISHED_ROUND records from now on. */
void jp_recorder_note_sampling(struct jp_session *session);

/* Implements jp_capture.stop: switches off sampling, then sideband, and drains the rings. */
void jp_recorder_stop(struct jp_session *session);
int jp_recorder_finish(struct jp_session *session, struct jp_error *err);
void jp_recorder_free(struct jp_session *session);
