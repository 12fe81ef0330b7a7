/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/base/error.h"

struct jp_session;

/* Finds the kernel's abilities and opens the rings; the caller then sets the attributes. */
int jp_recorder_open(struct jp_session *session, struct jp_error *err);
/* Creates perf.data; @name: the sampling event's name there. */
int jp_recorder_create(struct jp_session *session, const char *name, struct jp_error *err);
/* Creates and opens all, for samples by a clock. @on_exec: an exec enables all events. */
int jp_recorder_begin(struct jp_session *session, bool on_exec, struct jp_error *err);
/* Writes the kernel's own mappings, if it is sampled; needs an open event. */
void jp_recorder_write_kernel(struct jp_session *session);
/* Begins sampling of a command that waits for its exec. Returns 0. */
int jp_recorder_enabled(struct jp_session *session);
/* Notes that sampling has begun, and begins the file's rounds. */
void jp_recorder_sampling(struct jp_session *session);

/* Ends sampling and sideband, for policies with events of their own. */
void jp_recorder_stop(struct jp_session *session);
int jp_recorder_finish(struct jp_session *session, struct jp_error *err);
void jp_recorder_free(struct jp_session *session);
