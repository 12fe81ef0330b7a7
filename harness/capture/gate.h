/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "harness/base/error.h"

struct jp_gate;
struct jp_reading;
struct jp_session;

/* Actions of a policy when the gate opens and closes. */
struct jp_gate_policy {
	const char *name; /* the process's name in DIR/intervals */
	bool read_first;  /* read the maps before the answer, not after it */
	/* Switches the events that are off outside intervals. */
	int (*switch_events)(struct jp_session *session, bool on, struct jp_error *err);
	/* Handles the announcement of @pid with the maps @reading. May be NULL. */
	int (*announced)(struct jp_session *session, pid_t pid, const struct jp_reading *reading,
			 struct jp_error *err);
};

/* Creates the gatekeeper (docs/gate-protocol.md), which switches events for intervals. Returns NULL
 * and a message on errors. */
struct jp_gate *jp_gate_new(struct jp_session *session, const struct jp_gate_policy *policy,
			    struct jp_error *err);
/* Returns the environment variable for the command. */
char *jp_gate_environment(struct jp_gate *gate);
/* Serves requests, as the session's worker, until its end; then writes DIR/intervals. Returns 0, or
 * -errno and a message. */
int jp_gate_keep(struct jp_gate *gate, struct jp_error *err);
void jp_gate_free(struct jp_gate *gate);
