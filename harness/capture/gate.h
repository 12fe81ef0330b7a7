/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "harness/base/error.h"

struct jp_gate;
struct jp_reading;
struct jp_session;

/* What a capture does when processes announce themselves and begin and end intervals in which they
 * want samples (docs/gate-protocol.md). */
struct jp_gate_policy {
	const char *name; /* name of this behaviour in DIR/intervals */
	/* Read /proc/PID/maps before answering the process's announcement, not after it. */
	bool read_first;
	/* Switches on or off the events that are off outside intervals. */
	int (*switch_events)(struct jp_session *session, bool on, struct jp_error *err);
	/* Handles the announcement of @pid, whose /proc/PID/maps is in @reading. May be NULL. */
	int (*announced)(struct jp_session *session, pid_t pid, const struct jp_reading *reading,
			 struct jp_error *err);
};

/* Creates the FIFOs and the state by which processes can announce intervals
 * (docs/gate-protocol.md). Returns NULL and a message on errors. */
struct jp_gate *jp_gate_new(struct jp_session *session, const struct jp_gate_policy *policy,
			    struct jp_error *err);
/* Returns the NAME=VALUE with which the launched command finds the gate. */
char *jp_gate_environment(struct jp_gate *gate);
/* Starts the session's worker thread, which serves requests and writes DIR/intervals until the
 * session ends. Returns 0, or -errno and a message. */
int jp_gate_keep(struct jp_gate *gate, struct jp_error *err);
void jp_gate_free(struct jp_gate *gate);
