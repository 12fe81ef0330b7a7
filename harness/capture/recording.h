/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/base/error.h"

struct jp_session;

/* Everything up to the attrs: what the kernel permits, and rings. */
int jp_recorder_open(struct jp_session *session, struct jp_error *err);
/* The perf.data file, which calls sampling events @name. */
int jp_recorder_create(struct jp_session *session, const char *name, struct jp_error *err);
/* Both, for samples by a clock; with @on_exec all events enable themselves at an exec. */
int jp_recorder_begin(struct jp_session *session, bool on_exec, struct jp_error *err);
/* The kernel's own mappings, where it is sampled; once an event is open. */
void jp_recorder_tell_kernel(struct jp_session *session);
/* The same of a command that waits for its exec, which samples from then on. 0. */
int jp_recorder_enabled(struct jp_session *session);
/* From here on samples come: the file's rounds begin. */
void jp_recorder_sampling(struct jp_session *session);

/* The rest of a policy whose records are its own. */
void jp_recorder_stop(struct jp_session *session);
int jp_recorder_finish(struct jp_session *session, struct jp_error *err);
void jp_recorder_free(struct jp_session *session);
