// SPDX-License-Identifier: GPL-2.0-only
#include "harness/run/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/arguments.h"
#include "harness/base/clock.h"
#include "harness/base/interrupt.h"
#include "harness/base/order.h"
#include "harness/base/path.h"
#include "harness/base/registry.h"
#include "harness/capture/events.h"
#include "harness/capture/threads.h"
#include "harness/capture/witness.h"
#include "harness/format/rundir/run_dir.h"
#include "harness/model/evidence/witness.h"

/* Time limit for a workload to return from its calls, join its threads and exit after "stop". */
#define STOP_NS (5 * JP_NS_PER_S)
/* Time limit for a workload to exit after its threads ended. */
#define ENDING_NS JP_NS_PER_S
/* Interval of the checks whether the run was interrupted or the capture failed. */
#define SLICE_NS (100 * JP_NS_PER_MS)

int jp_watch_options(struct jp_watched *watch, struct jp_error *err)
{
	const struct jp_case *cas = watch->cas;

	watch->capture = jp_registry_find(JP_CAPTURE, cas->capture_argv[0]);
	if (!watch->capture)
		return jp_fail(err, EINVAL, "no capture '%s'", cas->capture_argv[0]);
	watch->options = jp_capture_defaults();
	watch->capture_argv = calloc((size_t)cas->capture_argc + 1, sizeof(char *));
	if (!watch->capture_argv)
		return jp_fail(err, ENOMEM, "out of memory");
	for (int i = 0; i < cas->capture_argc; i++) {
		int ret = i ? jp_capture_option(&watch->options, cas->capture_argv[i], err) : 0;

		if (ret < 0)
			return ret;
		if (!ret)
			watch->capture_argv[watch->capture_argc++] = cas->capture_argv[i];
	}
	jp_capture_leave_witness(&watch->options);
	if (jp_sysctl_read("perf_event_max_stack", JP_USUAL_MAX_STACK) > JP_USUAL_MAX_STACK)
		watch->options.max_stack = JP_USUAL_MAX_STACK;
	return 0;
}

void jp_watch_free(struct jp_watched *watch)
{
	free(watch->capture_argv);
}

static int step_at_boundary(void *context, const char *boundary, struct jp_error *err)
{
	struct jp_watched *watch = context;

	/* The capture may come to a boundary more than once: step the workload only the first
	 * time. */
	if (!watch->cas->step.boundary || watch->stepped ||
	    strcmp(boundary, watch->cas->step.boundary) != 0)
		return 0;
	watch->stepped = true;
	return jp_workload_process_step(&watch->process, watch->cas->step.command, watch->deadline,
					err);
}

/* Returns the number of threads that share the samples of an external profiler, which may sample
 * sleeping threads as often as busy threads; 1 for our own capture. */
static size_t count_sampled_threads(const struct jp_watched *watch)
{
	jp_cleanup_tids struct jp_tids tids = {0};
	char path[64];

	if (!(watch->capture->traits & JP_CAPTURE_EXTERNAL))
		return 1;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)watch->process.pid);
	return jp_tids_list(path, &tids) || !tids.count ? 1 : tids.count;
}

/* Returns how many samples a capture still needs if the witness has no samples that show the share
 * of emitted code. This is more than the case needs, because samples outside emitted code are not
 * judged. */
static uint64_t count_lacking_without_witness(const struct jp_watched *watch, uint64_t nr_taken)
{
	const uint64_t nr_needed = (uint64_t)watch->cas->samples * count_sampled_threads(watch);
	const uint64_t nr_wanted = nr_needed + nr_needed / 4 + 100;

	return nr_wanted - jp_min(nr_wanted, nr_taken);
}

/*
 * Returns how many samples the capture still needs until it surely has the case's number of samples
 * in emitted code. @nr_taken: number of its samples since @start_time. The witness's samples give
 * two estimates of those in emitted code: by the ratio of the sampling periods, and by the share of
 * the witness's samples in emitted code. A third estimate holds for external profilers that also
 * sample waiting threads: by the share of all threads' time in emitted code. The lowest counts.
 */
static uint64_t count_lacking(const struct jp_watched *watch, struct jp_session *session,
			      uint64_t start_time, uint64_t nr_taken)
{
	const struct jp_witness_tally tally = jp_witness_tally(watch->witness);
	const bool is_external = watch->capture->traits & JP_CAPTURE_EXTERNAL;
	const double in_code = (double)tally.in_code;
	const double ratio =
		(double)tally.period * jp_session_frequency(session) / (double)JP_NS_PER_S;
	const double by_period = in_code * ratio;
	const double by_share = tally.samples ? nr_taken * in_code / (double)tally.samples : 0;
	const double time =
		(double)(jp_clock_now() - start_time) * (double)count_sampled_threads(watch);
	const double by_time =
		is_external ? nr_taken * in_code * (double)tally.period / time : by_share;
	const double surely = fmin(fmin(by_period, by_share), by_time) -
			      jp_witness_compute_chance_bound((double)tally.gaps, by_period, ratio);
	const uint64_t nr_without = count_lacking_without_witness(watch, nr_taken);
	uint64_t lacking;

	if (tally.denied)
		return nr_without;
	lacking = (uint64_t)ceil(fmax(watch->cas->samples - surely, 0));
	return is_external ? jp_max(lacking, nr_without) : lacking;
}

/* Returns whether the workload has performed the acts that the case needs. Returns true if the
 * truth cannot be read, because the judge reports that. */
static bool has_performed_acts(const struct jp_watched *watch)
{
	const struct jp_case *cas = watch->cas;
	uint64_t counts[JP_ACTS];
	struct jp_error err;
	char path[4096];

	return !cas->acts.count ||
	       jp_path_build(path, sizeof(path), &err, "%s/truth", watch->dir) ||
	       jp_acts_count(path, watch->info.started, watch->info.sampling_since, UINT64_MAX,
			     counts, &err) ||
	       counts[cas->acts.act] >= cas->acts.count;
}

static uint64_t get_slice_end(const struct jp_watched *watch)
{
	const uint64_t slice = jp_clock_now() + SLICE_NS;

	return slice < watch->deadline ? slice : watch->deadline;
}

/* Stores a general message; jp_session_finish() reports the cause. Returns -EINTR or -EPIPE. */
static int fail_session(struct jp_error *err)
{
	return jp_fail(err, jp_interrupt_signal() ? EINTR : EPIPE,
		       "the profiler ended before the workload did");
}

static int fail_ended(struct jp_watched *watch, struct jp_error *err)
{
	const uint64_t soon = jp_clock_now() + ENDING_NS;

	return jp_workload_process_fail_end(&watch->process,
					    soon < watch->deadline ? soon : watch->deadline, err);
}

static bool is_launch(const struct jp_watched *watch)
{
	return watch->capture->traits & JP_CAPTURE_LAUNCHES;
}

/* Waits until the capture has enough samples, and the workload has performed enough acts. */
static int wait_for_samples_and_acts(struct jp_watched *watch, struct jp_session *session,
				     struct jp_error *err)
{
	/* Count samples only from now on, except for a launch: a launched workload may run most of
	 * its code before it is ready. */
	const uint64_t start_time = is_launch(watch) ? watch->info.sampling_since : jp_clock_now();
	uint64_t nr_taken = is_launch(watch) ? jp_session_samples(session) : 0, lacking;

	if (!is_launch(watch))
		jp_witness_count_from(watch->witness, start_time);
	for (;;) {
		lacking = count_lacking(watch, session, start_time, nr_taken);
		if (!lacking && has_performed_acts(watch))
			return 0;
		/* Wait at most SLICE_NS, then check again whether the workload has acted. */
		switch (jp_session_wait(session, lacking ? nr_taken + lacking : UINT64_MAX,
					get_slice_end(watch))) {
		case JP_WAIT_SAMPLES:
			nr_taken = jp_session_samples(session);
			break;
		case JP_WAIT_COMPLETE:
			return 0;
		case JP_WAIT_EXITED:
			return fail_ended(watch, err);
		case JP_WAIT_FAILED:
			return fail_session(err);
		case JP_WAIT_DEADLINE:
			break;
		}
		if (jp_interrupt_signal())
			return jp_fail(err, EINTR, "interrupted while sampling");
		/* The deadline is no error here: the judge reports too few samples, because it
		 * knows how many it could judge. */
		if (jp_clock_now() >= watch->deadline)
			return 0;
	}
}

/* Starts the session. A launched command inherits the standard descriptors of this process, so
 * replace them by the workload's until the session has started. */
static struct jp_session *open_session(struct jp_watched *watch, struct jp_target *target,
				       struct jp_error *err)
{
	struct jp_session *session = NULL;
	int saved[3], code;

	if (!is_launch(watch))
		return jp_session_start(watch->capture, watch->capture_argc, watch->capture_argv,
					&watch->options, target, watch->dir, NULL, err);
	if (!jp_workload_process_redirect(&watch->process, saved, err))
		session = jp_session_start(watch->capture, watch->capture_argc, watch->capture_argv,
					   &watch->options, target, watch->dir, NULL, err);
	code = errno;
	jp_workload_process_restore(saved);
	watch->process.pid = target->pid;
	errno = code;
	return session;
}

static int start_session(struct jp_watched *watch, struct jp_target *target,
			 struct jp_session **session, struct jp_error *err)
{
	int code;

	watch->info.started = jp_clock_now();
	*session = open_session(watch, target, err);
	code = errno;
	watch->info.sampling_since = jp_clock_now();
	if (*session) {
		/* Extend the deadline: some profilers need more time to begin than a case has for
		 * its samples. */
		watch->deadline += watch->info.sampling_since - watch->info.started;
		jp_session_describe(*session, &watch->info);
		return 0;
	}
	/* If a step of the workload did not end in time, the outcome of the case is TIMEOUT. */
	if (watch->stepped && jp_clock_now() >= watch->deadline)
		return -ETIMEDOUT;
	if (jp_interrupt_signal())
		return -EINTR;
	return code == EOPNOTSUPP ? -EOPNOTSUPP : -EIO;
}

/* Waits for the workload to be ready, at most until @end. The case's seconds count from then on. */
static int wait_workload(struct jp_watched *watch, uint64_t end, struct jp_error *err)
{
	const int ret = jp_workload_process_wait_ready(&watch->process, end, err);

	if (!ret)
		watch->deadline = jp_clock_now() + watch->cas->seconds * JP_NS_PER_S;
	return ret;
}

/* Waits until the workload is ready, or an external profiler that starts it has failed. */
static int wait_ready(struct jp_watched *watch, struct jp_session *session, struct jp_error *err)
{
	bool is_external = watch->process.is_external;

	for (;;) {
		int ret = wait_workload(watch, is_external ? get_slice_end(watch) : watch->deadline,
					err);

		if (ret != -ETIMEDOUT || jp_clock_now() >= watch->deadline)
			return ret;
		if (jp_session_has_failed(session))
			return fail_session(err);
	}
}

/* Records until the capture has enough samples, so that the workload may end. */
static int watch_session(struct jp_watched *watch, struct jp_target *target,
			 struct jp_session *session, struct jp_error *err)
{
	int ret = 0;

	if (is_launch(watch)) {
		jp_workload_process_close_ends(&watch->process);
		jp_witness_close_child_fd(watch->witness);
		watch->process.is_external = !target->pid;
		ret = wait_ready(watch, session, err);
		target->pid = watch->process.pid;
	}
	if (!ret && watch->cas->step.command && !watch->stepped)
		ret = jp_fail(err, EIO, "the capture ended before the boundary of step '%s'",
			      watch->cas->step.command);
	return ret ?: wait_for_samples_and_acts(watch, session, err);
}

static int stop_workload(struct jp_watched *watch, struct jp_error *err)
{
	return jp_workload_process_stop(&watch->process, jp_clock_now() + STOP_NS, err);
}

/* Closes the witness and stores its results. The capture's events must be off. */
static int close_witness(struct jp_watched *watch, struct jp_error *err)
{
	struct jp_witness_summary summary = {0};
	int ret = jp_witness_close(watch->witness, &summary, err);

	watch->witness = NULL;
	watch->info.witness = summary.samples;
	watch->info.witness_since = summary.started;
	if (!ret && summary.lost)
		return jp_fail(err, EIO, "the witness lost %" PRIu64 " samples", summary.lost);
	if (!ret && *summary.denied)
		ret = jp_run_dir_write(watch->dir, "witness.denied", summary.denied, err);
	return ret;
}

static int end_session(struct jp_watched *watch, struct jp_session *session, int ret,
		       struct jp_error *err)
{
	const bool is_external = watch->capture->traits & JP_CAPTURE_EXTERNAL;
	struct jp_error finish_err = {""};

	watch->info.ending = jp_clock_now();
	watch->info.silent = jp_session_end_sampling(session);
	if (!is_external)
		ret = ret ?: close_witness(watch, err);
	/* An external profiler that started the workload ends only after the workload. */
	if (watch->process.is_external && !ret && !jp_session_has_failed(session))
		ret = stop_workload(watch, err);
	/* If the capture ended early (EPIPE), report its reason instead. */
	if (jp_session_finish(session, &finish_err) && (!ret || ret == -EPIPE))
		ret = jp_fail(err, EIO, "%s", finish_err.text);
	/* An external profiler may sample until it ends, so close the witness only now. */
	if (is_external)
		ret = ret ?: close_witness(watch, err);
	watch->info.ended = jp_clock_now();
	if (!ret && !watch->process.is_external)
		ret = stop_workload(watch, err);
	/* Write `watched` last, when no profiler can change the folder any more. */
	return ret ?: jp_watched_write(&watch->info, watch->dir, err);
}

static int start_workload(struct jp_watched *watch, char **command, struct jp_error *err)
{
	int ret = fcntl(jp_witness_child_fd(watch->witness), F_SETFD, 0)
			  ? -errno
			  : jp_workload_process_start(&watch->process, command, err);

	jp_witness_close_child_fd(watch->witness);
	return ret;
}

static int watch_command(struct jp_watched *watch, char **command, struct jp_error *err)
{
	struct jp_target target = {.inherit_fds = {-1, -1, -1, -1},
				   .dies_with_us = true,
				   .boundary = step_at_boundary,
				   .context = watch};
	struct jp_session *session;
	char truth[4096];
	int ret = jp_path_build(truth, sizeof(truth), err, "%s/truth", watch->dir);

	target.truth = truth;
	if (is_launch(watch)) {
		target.command = command;
		target.inherit_fds[0] = watch->process.child_fd[0];
		target.inherit_fds[1] = watch->process.child_fd[1];
		target.inherit_fds[2] = jp_witness_child_fd(watch->witness);
	} else {
		ret = ret ?: start_workload(watch, command, err)
			  ?: wait_workload(watch, watch->deadline, err);
		target.pid = watch->process.pid;
	}
	if (!ret)
		ret = start_session(watch, &target, &session, err);
	if (ret)
		return ret;
	ret = watch_session(watch, &target, session, err);
	return end_session(watch, session, ret, err);
}

/* Adds the command line of `jitproof workload`. */
static void add_command(const struct jp_watched *watch, struct jp_arguments *command)
{
	const struct jp_case *cas = watch->cas;

	jp_arguments_add(command, "%s", watch->program);
	jp_arguments_add(command, "workload");
	jp_arguments_add(command, "%s", cas->workload_argv[0]);
	jp_arguments_add(command, "--truth");
	jp_arguments_add(command, "%s/truth", watch->dir);
	jp_arguments_add(command, "--seed");
	jp_arguments_add(command, "%" PRIu64, watch->seed);
	jp_arguments_add(command, "--ready-fd");
	jp_arguments_add(command, "%d", watch->process.child_fd[0]);
	jp_arguments_add(command, "--control-fd");
	jp_arguments_add(command, "%d", watch->process.child_fd[1]);
	jp_arguments_add(command, "--hold-fd=%d", jp_witness_child_fd(watch->witness));
	if (cas->publish)
		jp_arguments_add(command, "--publish=%s", cas->publish);
	if (jp_case_publish_children(cas))
		jp_arguments_add(command, "--publish-dir=%s", watch->dir);
	jp_arguments_add_all(command, cas->workload_argv + 1);
}

int jp_watch(struct jp_watched *watch, struct jp_error *err)
{
	jp_cleanup_arguments struct jp_arguments command = {0};
	int ret = jp_workload_process_open(&watch->process, watch->dir, err);

	if (ret)
		return ret;
	watch->witness = jp_witness_open(&watch->options, watch->dir, err);
	if (!watch->witness)
		return -EIO;
	add_command(watch, &command);
	ret = command.failed ? jp_fail(err, ENOMEM, "out of memory")
			     : watch_command(watch, command.list, err);
	if (!ret)
		return 0;
	/* Keep the first failure's message. */
	close_witness(watch, NULL);
	return ret;
}
