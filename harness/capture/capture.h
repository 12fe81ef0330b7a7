/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"
#include "harness/base/registry.h"
#include "harness/capture/options.h"
#include "harness/format/rundir/watched.h"

/* A capture is a way of recording, such as attach or launch, in a source file of its own; comments
 * also call it a policy. A session is one use of a capture on a target, from the start to a closed
 * perf.data file. */

/* The target of a session. Attach: @pid runs already. Launch: the session starts @command. */
struct jp_target {
	/* A launch sets it if @command becomes our child, otherwise leaves it 0. */
	pid_t pid;
	char *const *command; /* NULL: attach */
	int inherit_fds[4];   /* descriptors for the launched command, up to -1 */
	bool dies_with_us;    /* kill @command if this process is killed */
	/* Called at each of the capture's boundaries. Returns 0, or -errno and a message. May be
	 * NULL. */
	int (*boundary)(void *context, const char *boundary, struct jp_error *err);
	void *context;
	const char *truth; /* the case's truth file, or NULL */
};

struct jp_session;

enum jp_capture_trait {
	JP_CAPTURE_LAUNCHES = 1, /* needs target->command */
	/* `jitproof record` uses it. Two captures have this trait: one launches, one attaches. */
	JP_CAPTURE_PLAIN = 2,
	/* Another program records. It records callchains only if no stack dump is requested. */
	JP_CAPTURE_EXTERNAL = 4,
	JP_CAPTURE_GATED = 8, /* samples are taken only in intervals that the workload announces */
	JP_CAPTURE_USER = 16, /* no sample is taken in the kernel */
};

/* A capture. Its functions get the capture's name in argv[0], then its own options, without those
 * of struct jp_capture_options. */
struct jp_capture {
	const char *name;
	/* Names of the moments at which a case can make the workload act, by the handshake of
	 * struct jp_workload_process; in order of time, NULL-terminated. NULL: none. */
	const char *const *boundaries;
	unsigned int traits;
	/* Tries whether the capture can work here. Stores what is missing in @missing, such as
	 * "perf_event_open: EACCES (kernel.perf_event_paranoid=3)". Returns the number of missing
	 * things. */
	int (*probe)(const struct jp_capture_options *options, int argc, char **argv, char *missing,
		     size_t size);
	/* Starts the session until samples are taken. */
	int (*begin)(struct jp_session *session, int argc, char **argv, struct jp_error *err);
	/* Ends sampling: the numbers of samples and losses are then final. */
	void (*stop)(struct jp_session *session);
	/* Completes perf.data and `capture`. */
	int (*finish)(struct jp_session *session, struct jp_error *err);
	/* Frees the capture's state. Called last, even if @begin failed. */
	void (*free)(struct jp_session *session);
};

/* Starts @capture on @target: writes @dir/perf.data, @dir/maps, @dir/capture and @dir/elf/. If @dir
 * is NULL, writes only perf.data, into @output. Returns NULL, a message and errno on errors;
 * EOPNOTSUPP: the request is not possible here. */
struct jp_session *jp_session_start(const struct jp_capture *capture, int argc, char **argv,
				    const struct jp_capture_options *options,
				    struct jp_target *target, const char *dir, const char *output,
				    struct jp_error *err);
/* Stores in @watched what a running session records: contents of samples, clock and limits. */
void jp_session_describe(const struct jp_session *session, struct jp_watched_info *watched);
/* Returns the number of samples written so far. */
uint64_t jp_session_samples(struct jp_session *session);
/* Waits until @samples samples were taken since sampling began (0: any number); or the capture is
 * complete; or every watched process has exited; or the capture failed; or @deadline
 * (CLOCK_MONOTONIC, ns) passed. Returns which of these happened. */
enum jp_wait {
	JP_WAIT_SAMPLES,
	JP_WAIT_COMPLETE,
	JP_WAIT_EXITED,
	JP_WAIT_FAILED,
	JP_WAIT_DEADLINE
};
enum jp_wait jp_session_wait(struct jp_session *session, uint64_t samples, uint64_t deadline);
/* Returns whether the session failed: jp_session_finish() states why. */
bool jp_session_has_failed(struct jp_session *session);
/* Makes jp_session_wait() return JP_WAIT_COMPLETE, unless an external profiler records. A signal
 * handler may call it. */
void jp_session_interrupt(struct jp_session *session);
/* Stops sampling. Returns a time (CLOCK_MONOTONIC, ns) by which the sampling events were off. */
uint64_t jp_session_end_sampling(struct jp_session *session);
void jp_session_stop(struct jp_session *session, uint64_t *lost_samples, uint64_t *lost_sideband);
/* Stores in @text why a stopped session has no samples, as far as the counts of its events show the
 * reason. */
void jp_session_explain_silence(const struct jp_session *session, char *text, size_t size);
/* Returns the sampling frequency in samples per second and thread. It is lower than requested if
 * the rings are too small. */
uint32_t jp_session_frequency(const struct jp_session *session);
/* Stops sampling if necessary, completes and closes perf.data, and writes DIR/capture. Frees
 * @session. Returns 0, or -errno and a message. */
int jp_session_finish(struct jp_session *session, struct jp_error *err);
