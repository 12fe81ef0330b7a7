/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <pthread.h>
#include <sys/resource.h>

#include "harness/capture/capture.h"
#include "harness/format/rundir/capture_info.h"

/* The thread of a policy that goes on after begin. */
struct jp_worker {
	pthread_t thread;
	bool runs;
	bool ending; /* it must end; under the session's lock */
	int wake;    /* eventfd, written then; -1: it waits for session->changed */
	int error;   /* of its work */
	struct jp_error err;
};

/* What a session is to its policy. */
struct jp_session {
	const struct jp_capture *capture;
	void *state; /* the policy's own */
	struct jp_capture_options options;
	struct jp_target *target;
	char *dir, *output;
	struct rlimit files; /* as found: the launched command gets it back */
	int *cpus;
	unsigned int nr_cpus;
	uint64_t began;              /* before anything was opened */
	struct jp_capture_info info; /* for DIR/capture */
	struct jp_worker worker;
	struct jp_recorder *recorder; /* NULL: someone else records */
	struct jp_external *external; /* who does so; NULL: we do */
	struct jp_elf_copies *copies; /* NULL: no DIR, or not yet */
	bool stopped;
	uint64_t silent; /* when its events were off, at the latest; 0: not yet */

	/* Whoever adds events or records and the draining thread take turns. */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* any of what follows */
	uint64_t samples;       /* all of them, */
	uint64_t early;         /* and those of before info.sampling */
	bool exited;            /* every watched process has */
	bool failed;            /* who records is broken: finish says why */
	bool complete;          /* the capture needs no more */
	bool by_complete;       /* the policy says when, whatever the number of samples */
};

/* Lets the target act. */
int jp_session_boundary(struct jp_session *session, const char *boundary, struct jp_error *err);
/* Measures the clocks; begins DIR/maps and DIR/elf. */
int jp_session_prepare(struct jp_session *session, struct jp_error *err);
