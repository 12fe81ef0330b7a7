/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_CAPTURE_H
#define JP_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"
#include "harness/base/registry.h"

/*
 * Watching. The session (harness/capture/session.c) owns descriptors, rings, the one draining
 * thread and the perf.data file; a capture is one policy of using it, one per file.
 */

/* Mappings synthesized from /proc/PID/maps when a process is older than the capture. */
enum jp_synth {
	JP_SYNTH_NONE,
	JP_SYNTH_PATHS, /* executable entries with a path: the bug of one-collect#295 */
	JP_SYNTH_EXEC,  /* every executable entry: the fix */
	JP_SYNTH_ALL,   /* entries without execute permission too */
};

struct jp_capture_options {
	enum jp_synth synth;
	bool chain;     /* kernel callchains */
	bool deferred;  /* their user part when the thread returns there: kernels from 6.19 */
	uint32_t stack; /* bytes of user stack + registers, 0: none; multiple of 8, at most 65528 */
	uint32_t frequency; /* samples per second and thread; lowered where rings would be too small
			     */
	bool task_clock;    /* task-clock instead of cpu-clock */
	bool kernel;        /* sample the kernel too; dropped where not permitted */
	bool need_kernel;   /* it must be permitted */
	bool system_wide;
	bool all_maps;          /* attr.mmap_data too */
	bool late_elf;          /* open mapped files by their paths, when all is over */
	uint64_t ring;          /* bytes of each sample ring, 0: from stack, frequency and 250 ms */
	uint64_t sideband_ring; /* of each ring of mappings, processes and names, 0: the default */
};
struct jp_capture_options jp_capture_defaults(void);
/* Parses and removes one --option[=value] of a capture from argv; 1 taken, 0 not ours, < 0 error.
 * "--synth=exec --stack=8192 --freq=2000 --no-chain --callchain=deferred --task-clock --user-only
 * --kernel --system-wide
 * --elf=late --ring=N --sideband-ring=N". */
int jp_capture_option(struct jp_capture_options *options, const char *arg, struct jp_error *err);

/* What is watched. Attach: @pid runs already. Launch: @command is started by the session. */
struct jp_target {
	pid_t pid;
	char *const *command; /* NULL: attach */
	int inherit_fds[4];   /* descriptors that the launched command keeps, -1 ends */
	bool dies_with_us;    /* should we be killed outright, the launched command is too */
	/* Called at each boundary of the policy; returns 0, or -errno and a message. May be NULL.
	 */
	int (*boundary)(void *context, const char *boundary, struct jp_error *err);
	void *context;
	const char *truth; /* the case's truth file where there is one (the breakpoint capture reads
			    * the instructions' addresses from it), else NULL */
};

struct jp_session;

/* One policy. @begin brings the session from nothing to "sampling", in the policy's order. @argv:
 * the policy's own options, after jp_capture_option() took the common ones. */
struct jp_capture {
	const char *name; /* "attach", "launch", "breakpoint", "gated", "launch-by" ... */
	const char *help;
	/* Moments at which a case may make the target act (handshake, no sleeping), in their order;
	 * NULL ends. NULL: none. */
	const char *const *boundaries;
	bool launches;    /* needs target->command */
	bool breakpoints; /* needs breakpoint events; says itself when it is complete */
	bool gated;       /* samples in intervals alone; complete once the workload is ready */
	bool external; /* anyone's profiler records; what it launches is its own child, which must
			* end after jp_session_stop() and before jp_session_finish() */
	int (*begin)(struct jp_session *session, int argc, char **argv, struct jp_error *err);
};

/* What perf_event_open permits here: every missing thing by name in @missing ("perf_event_open:
 * EACCES (kernel.perf_event_paranoid=3)", ...); returns their number, 0: all there. Probed, never
 * guessed from versions. @breakpoints: breakpoint events are needed too. */
int jp_capture_probe(const struct jp_capture_options *options, bool breakpoints, char *missing,
		     size_t size);

/*
 * Starts @capture on @target: writes @dir/perf.data, @dir/maps, @dir/capture and, when @keep_elf,
 * @dir/elf/. A NULL @dir: @output is the perf.data file and nothing else is written.
 * NULL, a message and errno where it cannot; EOPNOTSUPP: what was asked for cannot be had here.
 */
struct jp_session *jp_session_start(const struct jp_capture *capture, int argc, char **argv,
				    const struct jp_capture_options *options,
				    struct jp_target *target, const char *dir, const char *output,
				    struct jp_error *err);
/* Samples written so far. */
uint64_t jp_session_samples(const struct jp_session *session);
/* True once the capture needs no more (breakpoint: every instruction was hit or given up). */
bool jp_session_complete(const struct jp_session *session);
/* Waits until @samples are in (0: no limit), or the session is complete, or every watched process
 * has exited, or @deadline (CLOCK_MONOTONIC ns). Returns what happened. */
enum jp_wait { JP_WAIT_SAMPLES, JP_WAIT_COMPLETE, JP_WAIT_EXITED, JP_WAIT_DEADLINE };
enum jp_wait jp_session_wait(struct jp_session *session, uint64_t samples, uint64_t deadline);
/* Makes jp_session_wait() return JP_WAIT_COMPLETE from now on; may be called by a signal handler.
 */
void jp_session_interrupt(struct jp_session *session);
/* Stops sampling and drains: from here on the samples are final, and what was lost is known. */
void jp_session_stop(struct jp_session *session, uint64_t *lost_samples, uint64_t *lost_sideband);
/* Stops if need be, finishes and closes the file, writes `capture`. Frees @session. */
int jp_session_finish(struct jp_session *session, struct jp_error *err);

#endif
