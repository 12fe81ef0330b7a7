/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/error.h"
#include "harness/capture/options.h"

struct jp_session;

/* Implements jp_capture.probe for captures by an external profiler. */
int jp_external_probe(const struct jp_capture_options *options, int argc, char **argv,
		      char *missing, size_t size);
/* Starts the profiler @argv[1]. @environment: NAME=VALUE for the launched command, whose events
 * then stay off until jp_external_switch() enables them; NULL: the events are on at once. */
int jp_external_begin(struct jp_session *session, int argc, char **argv, char *environment,
		      struct jp_error *err);
/* Makes the profiler switch its events on or off, and waits until it confirms. */
int jp_external_switch(struct jp_session *session, bool enable, struct jp_error *err);
/* Ends sampling; the profiler may still write. */
void jp_external_stop(struct jp_session *session);
/* Waits until the profiler has written its files and ended. */
int jp_external_finish(struct jp_session *session, struct jp_error *err);
void jp_external_free(struct jp_session *session);
