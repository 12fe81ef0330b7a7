/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"
#include "harness/base/registry.h"
#include "harness/capture/options.h"
#include "harness/format/rundir/watched.h"

/* A capture is a policy of recording, in a file of its own; a session is one use of a policy on a
 * target, from the start to a closed perf.data file. */

/* The target of a session. Attach: @pid runs already. Launch: the session starts @command. */
struct jp_target {
	pid_t pid;            /* a launch sets it if the command is our child, else it stays 0 */
	char *const *command; /* NULL: attach */
	int inherit_fds[4];   /* descriptors for the launched command, up to -1 */
	bool dies_with_us;    /* kill the launched command if we are killed */
	/* Called at each boundary of the policy. Returns 0, or -errno and a message. May be
	 * NULL. */
	int (*boundary)(void *context, const char *boundary, struct jp_error *err);
	void *context;
	const char *truth; /* the case's truth file, or NULL */
};

struct jp_session;

enum jp_capture_trait {
	JP_CAPTURE_LAUNCHES = 1, /* needs target->command */
	/* `jitproof record` uses it: one policy that launches, and one that does not. */
	JP_CAPTURE_PLAIN = 2,
	/* Another program records: callchains if no stack dump is requested. */
	JP_CAPTURE_EXTERNAL = 4,
	JP_CAPTURE_GATED = 8, /* samples only in the intervals that the workload announces */
};

/* One policy. @argv: [0] is its name, then its own options, without the common ones. */
struct jp_capture {
	const char *name;
	/* Moments at which a case may make the target act (by handshake), in order, up to a NULL.
	 * NULL: none. */
	const char *const *boundaries;
	unsigned int traits;
	/* Tries what the policy needs, and stores the missing things in @missing: "perf_event_open:
	 * EACCES (kernel.perf_event_paranoid=3)", ... Returns their number. */
	int (*probe)(const struct jp_capture_options *options, int argc, char **argv, char *missing,
		     size_t size);
	/* Starts the session up to "sampling", in the policy's order. */
	int (*begin)(struct jp_session *session, int argc, char **argv, struct jp_error *err);
	/* Ends sampling: samples and losses are then final. */
	void (*stop)(struct jp_session *session);
	/* Completes the files. */
	int (*finish)(struct jp_session *session, struct jp_error *err);
	/* Called last, also if begin failed. */
	void (*free)(struct jp_session *session);
};

/* Starts @capture on @target: writes @dir/perf.data, @dir/maps, @dir/capture and @dir/elf/. If @dir
 * is NULL, writes only perf.data, into @output. Returns NULL, a message and errno on errors;
 * EOPNOTSUPP: the request is not possible here. */
struct jp_session *jp_session_start(const struct jp_capture *capture, int argc, char **argv,
				    const struct jp_capture_options *options,
				    struct jp_target *target, const char *dir, const char *output,
				    struct jp_error *err);
/* Stores a running session's promises in @watched: contents of samples, clock and limits. */
void jp_session_describe(const struct jp_session *session, struct jp_watched_info *watched);
/* Returns the number of samples written so far. */
uint64_t jp_session_samples(struct jp_session *session);
/* Waits until @samples samples exist in the window (0: no limit); or the capture is complete; or
 * every watched process has ended; or the capture failed; or @deadline (CLOCK_MONOTONIC ns).
 * Returns which of these happened. */
enum jp_wait {
	JP_WAIT_SAMPLES,
	JP_WAIT_COMPLETE,
	JP_WAIT_EXITED,
	JP_WAIT_FAILED,
	JP_WAIT_DEADLINE
};
enum jp_wait jp_session_wait(struct jp_session *session, uint64_t samples, uint64_t deadline);
/* Returns whether the session failed: jp_session_finish() states why. */
bool jp_session_failed(struct jp_session *session);
/* Makes jp_session_wait() return JP_WAIT_COMPLETE, if the events are ours; a signal handler may
 * call it. */
void jp_session_interrupt(struct jp_session *session);
/* Stops sampling. Returns a time by which its events were off, by the events or the profiler. */
uint64_t jp_session_end_sampling(struct jp_session *session);
void jp_session_stop(struct jp_session *session, uint64_t *lost_samples, uint64_t *lost_sideband);
/* Stores the reason why a stopped session has no samples in @text, as far as its events show it. */
void jp_session_explain_silence(const struct jp_session *session, char *text, size_t size);
/* Returns samples per second and thread: fewer than requested if the rings are too small. */
uint32_t jp_session_frequency(const struct jp_session *session);
/* Stops if necessary, completes and closes the file, writes `capture`. Frees @session. Returns 0,
 * or -errno and a message. */
int jp_session_finish(struct jp_session *session, struct jp_error *err);
