/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "harness/base/error.h"

struct jp_gate;
struct jp_reading;
struct jp_session;

/* What a policy does when the gate opens and closes. */
struct jp_gate_policy {
	const char *name; /* in DIR/intervals */
	bool read_first;  /* the maps are read before the process is answered, not after */
	/* Enables or disables what is off outside of intervals. */
	int (*turn)(struct jp_session *session, bool on, struct jp_error *err);
	/* @pid announced itself, and @reading shows its maps. May be NULL. */
	int (*announced)(struct jp_session *session, pid_t pid, const struct jp_reading *reading,
			 struct jp_error *err);
};

/* The gatekeeper (docs/gate-protocol.md): switches events on around intervals. */
struct jp_gate *jp_gate_new(struct jp_session *session, const struct jp_gate_policy *policy,
			    struct jp_error *err);
/* What the command needs in its environment. */
char *jp_gate_environment(struct jp_gate *gate);
/* Answers, as the session's worker, until that is to end, then writes DIR/intervals. */
int jp_gate_keep(struct jp_gate *gate, struct jp_error *err);
void jp_gate_free(struct jp_gate *gate);
