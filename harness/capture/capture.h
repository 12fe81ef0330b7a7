/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"
#include "harness/base/registry.h"
#include "harness/capture/options.h"
#include "harness/format/rundir/watched.h"

/*
 * Watching. A capture is one policy of it, one per file; a session is one use of a policy on a
 * target, from its beginning to a closed perf.data file.
 */

/* What is watched. Attach: @pid runs already. Launch: @command is started by the session. */
struct jp_target {
	pid_t pid; /* a launch sets it where the command is our child, else leaves it 0 */
	char *const *command; /* NULL: attach */
	int inherit_fds[4];   /* descriptors that the launched command keeps, -1 ends */
	bool dies_with_us;    /* should we be killed outright, the launched command is too */
	/* Called at each boundary of the policy; returns 0, or -errno and a message. May be NULL.
	 */
	int (*boundary)(void *context, const char *boundary, struct jp_error *err);
	void *context;
	const char *truth; /* the case's truth file where there is one, else NULL */
};

struct jp_session;

enum jp_capture_trait {
	JP_CAPTURE_LAUNCHES = 1, /* needs target->command */
	/* `jitproof record` uses it: one policy that launches, one that does not. */
	JP_CAPTURE_PLAIN = 2,
	/* Someone else records: callchains where no stack dump is asked for. */
	JP_CAPTURE_EXTERNAL = 4,
};

/* One policy. @argv: [0] is its name, then its own options, without those of all captures. */
struct jp_capture {
	const char *name;
	/* Moments at which a case may make the target act (handshake, no sleeping), in their order;
	 * NULL ends. NULL: none. */
	const char *const *boundaries;
	unsigned int traits;
	/* Names everything that is missing here in @missing ("perf_event_open: EACCES
	 * (kernel.perf_event_paranoid=3)", ...); returns its number, 0: all there. Probed, never
	 * guessed from versions. */
	int (*probe)(const struct jp_capture_options *options, int argc, char **argv, char *missing,
		     size_t size);
	/* Brings the session from nothing to "sampling", in the policy's order. */
	int (*begin)(struct jp_session *session, int argc, char **argv, struct jp_error *err);
	/* Ends sampling: from here on the samples are final, and what was lost is known. */
	void (*stop)(struct jp_session *session);
	/* Writes what is still to be written. */
	int (*finish)(struct jp_session *session, struct jp_error *err);
	/* Always the last, also where begin failed. */
	void (*free)(struct jp_session *session);
};

/*
 * Starts @capture on @target: writes @dir/perf.data, @dir/maps, @dir/capture and @dir/elf/. A NULL
 * @dir: @output is the perf.data file and nothing else is written.
 * NULL, a message and errno where it cannot; EOPNOTSUPP: what was asked for cannot be had here.
 */
struct jp_session *jp_session_start(const struct jp_capture *capture, int argc, char **argv,
				    const struct jp_capture_options *options,
				    struct jp_target *target, const char *dir, const char *output,
				    struct jp_error *err);
/* What a running session must deliver, and with which clock and limits, into @watched. */
void jp_session_promises(const struct jp_session *session, struct jp_watched_info *watched);
/* Samples written so far. */
uint64_t jp_session_samples(struct jp_session *session);
/* Waits until @samples are in (0: no limit), besides those of before the window, or the capture
 * needs no more, or every watched process has exited, or the capture failed, or @deadline
 * (CLOCK_MONOTONIC ns). Returns what happened. */
enum jp_wait {
	JP_WAIT_SAMPLES,
	JP_WAIT_COMPLETE,
	JP_WAIT_EXITED,
	JP_WAIT_FAILED,
	JP_WAIT_DEADLINE
};
enum jp_wait jp_session_wait(struct jp_session *session, uint64_t samples, uint64_t deadline);
/* Whether it failed already: there is nothing to wait for, and jp_session_finish() says why. */
bool jp_session_failed(struct jp_session *session);
/* Makes jp_session_wait() return JP_WAIT_COMPLETE from now on, where the events are ours; may be
 * called by a signal handler. */
void jp_session_interrupt(struct jp_session *session);
/* Stops it. Returns a time by which its events were off, as they or the profiler said. */
uint64_t jp_session_end_sampling(struct jp_session *session);
void jp_session_stop(struct jp_session *session, uint64_t *lost_samples, uint64_t *lost_sideband);
/* Of a stopped session without samples: why, as far as the events tell. Into @text. */
void jp_session_silence(const struct jp_session *session, char *text, size_t size);
/* Samples a second and thread: fewer than were asked for where rings hold no more. */
uint32_t jp_session_frequency(const struct jp_session *session);
/* Stops if need be, finishes and closes the file, writes `capture`. Frees @session. */
int jp_session_finish(struct jp_session *session, struct jp_error *err);
