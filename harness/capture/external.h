/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/error.h"
#include "harness/capture/options.h"

struct jp_session;

/* Probes as a policy does. */
int jp_external_probe(const struct jp_capture_options *options, int argc, char **argv,
		      char *missing, size_t size);
/* Starts the profiler @argv[1]. @environment: NAME=VALUE for the command, whose events then stay
 * off until jp_external_switch(); may be NULL. */
int jp_external_begin(struct jp_session *session, int argc, char **argv, char *environment,
		      struct jp_error *err);
/* Orders the profiler to switch its events, and waits for its answer. */
int jp_external_switch(struct jp_session *session, bool on, struct jp_error *err);
/* Ends sampling; the profiler may still write. */
void jp_external_stop(struct jp_session *session);
/* Waits until everything is written. */
int jp_external_finish(struct jp_session *session, struct jp_error *err);
void jp_external_free(struct jp_session *session);
