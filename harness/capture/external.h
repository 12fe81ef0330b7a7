/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/error.h"
#include "harness/capture/options.h"

struct jp_session;

/* As a policy's. */
int jp_external_probe(const struct jp_capture_options *options, int argc, char **argv,
		      char *missing, size_t size);
/* Starts the profiler @argv[1]. @environment (may be NULL): NAME=VALUE for the command; all events
 * are off until switched. */
int jp_external_begin(struct jp_session *session, int argc, char **argv, char *environment,
		      struct jp_error *err);
/* Returns when the profiler has said that its events are on, or off. */
int jp_external_switch(struct jp_session *session, bool on, struct jp_error *err);
/* Sampling ends; what it writes is still its own. */
void jp_external_stop(struct jp_session *session);
/* Everything is written. */
int jp_external_finish(struct jp_session *session, struct jp_error *err);
void jp_external_free(struct jp_session *session);
