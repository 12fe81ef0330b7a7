// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/capture/clock_slack.h"
#include "harness/capture/drain.h"
#include "harness/capture/elf_copies.h"
#include "harness/capture/events.h"
#include "harness/capture/recorder.h"
#include "harness/capture/snapshot.h"

int jp_session_prepare(struct jp_session *session, struct jp_error *err)
{
	int ret = jp_clock_slack(session->cpus, session->nr_cpus, &session->info.slack, err);

	if (!ret && session->dir)
		ret = jp_snapshot_write_empty(session->dir, err);
	if (ret || !session->dir)
		return ret;
	session->copies = jp_elf_copies_start(session->dir, session->options.late_elf, err);
	return session->copies ? 0 : -EIO;
}

/* Raises the limit of descriptors: two for each thread and CPU soon exceed a thousand. */
static void raise_file_limit(struct jp_session *session)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &session->files);
	limit = session->files;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void init_locks(struct jp_session *session)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&session->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&session->changed, &attr);
	pthread_condattr_destroy(&attr);
}

static void init_capture_info(struct jp_session *session)
{
	struct jp_capture_info *info = &session->info;

	info->max_stack = (uint64_t)jp_sysctl_read("perf_event_max_stack", JP_USUAL_MAX_STACK);
	info->stack_dump = session->options.stack;
	info->settled = true;
	snprintf(info->policy, sizeof(info->policy), "%s", jp_synth_text(session->options.synth));
	snprintf(info->order, sizeof(info->order), "enable-first");
}

static void free_session(struct jp_session *session)
{
	struct jp_error ignored;

	jp_worker_end(session);
	session->capture->free(session);
	jp_elf_copies_finish(session->copies, &ignored);
	if (session->worker.wake >= 0)
		close(session->worker.wake);
	setrlimit(RLIMIT_NOFILE, &session->files);
	pthread_cond_destroy(&session->changed);
	pthread_mutex_destroy(&session->lock);
	free(session->cpus);
	free(session->output);
	free(session->dir);
	free(session);
}

static int name_files(struct jp_session *session, const char *dir, const char *output)
{
	session->dir = dir ? strdup(dir) : NULL;
	if (dir && asprintf(&session->output, "%s/perf.data", dir) < 0)
		session->output = NULL;
	else if (!dir)
		session->output = strdup(output);
	return session->output && (!dir || session->dir) ? 0 : -ENOMEM;
}

static int begin_capture(struct jp_session *session, int argc, char **argv, struct jp_error *err)
{
	int ret = jp_cpus_online(&session->cpus, err);

	if (ret < 0)
		return ret;
	session->nr_cpus = (unsigned int)ret;
	return session->capture->begin(session, argc, argv, err);
}

struct jp_session *jp_session_start(const struct jp_capture *capture, int argc, char **argv,
				    const struct jp_capture_options *options,
				    struct jp_target *target, const char *dir, const char *output,
				    struct jp_error *err)
{
	struct jp_session *session = calloc(1, sizeof(*session));
	int ret;

	if (!session) {
		jp_fail(err, ENOMEM, "out of memory for a session");
		return NULL;
	}
	session->capture = capture;
	session->options = *options;
	session->target = target;
	session->worker.wake = -1;
	session->began = jp_clock_now();
	init_capture_info(session);
	init_locks(session);
	raise_file_limit(session);
	if (name_files(session, dir, output))
		ret = jp_fail(err, ENOMEM, "out of memory for a session");
	else
		ret = begin_capture(session, argc, argv, err);
	if (!ret)
		return session;
	free_session(session);
	errno = -ret;
	return NULL;
}

void jp_session_describe(const struct jp_session *session, struct jp_watched_info *watched)
{
	const struct jp_capture_options *options = &session->options;
	bool is_external = session->capture->traits & JP_CAPTURE_EXTERNAL;

	watched->slack = session->info.slack;
	watched->max_stack = session->info.max_stack;
	watched->chain = options->chain && !(is_external && options->stack);
	watched->stack_dump = options->stack;
	watched->user_only = !options->kernel;
	for (unsigned int i = 0; i < session->nr_cpus; i++)
		if ((uint64_t)session->cpus[i] >= watched->cpus)
			watched->cpus = (uint64_t)session->cpus[i] + 1;
	watched->task_clock = options->task_clock;
	watched->synth = options->synth;
}

uint64_t jp_session_samples(struct jp_session *session)
{
	uint64_t samples;

	pthread_mutex_lock(&session->lock);
	samples = session->samples;
	pthread_mutex_unlock(&session->lock);
	return samples;
}

bool jp_session_has_failed(struct jp_session *session)
{
	bool failed;

	pthread_mutex_lock(&session->lock);
	failed = session->failed;
	pthread_mutex_unlock(&session->lock);
	return failed;
}

void jp_session_interrupt(struct jp_session *session)
{
	int error = errno;

	if (session->recorder)
		jp_drain_interrupt(session->recorder);
	errno = error;
}

enum jp_wait jp_session_wait(struct jp_session *session, uint64_t samples, uint64_t deadline)
{
	const struct timespec until = jp_clock_timespec(deadline);
	enum jp_wait result = JP_WAIT_DEADLINE;
	int error = 0;

	pthread_mutex_lock(&session->lock);
	for (;;) {
		if (session->failed)
			result = JP_WAIT_FAILED;
		else if (samples && session->samples >= samples + session->early &&
			 !session->by_complete)
			result = JP_WAIT_SAMPLES;
		else if (session->complete)
			result = JP_WAIT_COMPLETE;
		else if (session->exited)
			result = JP_WAIT_EXITED;
		else if (error != ETIMEDOUT) {
			error = pthread_cond_timedwait(&session->changed, &session->lock, &until);
			continue;
		}
		break;
	}
	pthread_mutex_unlock(&session->lock);
	return result;
}

uint64_t jp_session_end_sampling(struct jp_session *session)
{
	if (session->stopped)
		return session->silent;
	session->stopped = true;
	jp_worker_end(session);
	session->capture->stop(session);
	return session->silent = session->silent ?: jp_clock_now();
}

void jp_session_stop(struct jp_session *session, uint64_t *lost_samples, uint64_t *lost_sideband)
{
	jp_session_end_sampling(session);
	*lost_samples = session->info.lost_samples;
	*lost_sideband = session->info.lost_sideband;
}

uint32_t jp_session_frequency(const struct jp_session *session)
{
	return session->recorder ? session->recorder->frequency
				 : jp_capture_frequency(&session->options);
}

void jp_session_explain_silence(const struct jp_session *session, char *text, size_t size)
{
	const struct jp_capture_info *info = &session->info;
	const struct jp_recorder *recorder = session->recorder;
	const double ms = info->counted / 1e6;

	if (info->lost_samples)
		snprintf(text, size, "all of them were lost: a larger --ring keeps more");
	else if (!info->counted)
		snprintf(text, size, "%s",
			 session->exited ? "the target ended before it used any CPU time"
					 : "the target used no CPU time");
	else if (recorder && info->counted < JP_NS_PER_S / (recorder->frequency ?: 1))
		snprintf(text, size,
			 "the target used %.3f ms of CPU time, less than the %.3f ms from one "
			 "sample to the next (-F)",
			 ms, 1e3 / (recorder->frequency ?: 1));
	else if (!session->options.kernel)
		snprintf(text, size,
			 "the target used %.3f ms of CPU time, in the kernel, and --user-only "
			 "leaves that out",
			 ms);
	else if (recorder && !recorder->abilities.kernel)
		snprintf(text, size,
			 "the target used %.3f ms of CPU time, in the kernel, which may not "
			 "be "
			 "sampled (kernel.perf_event_paranoid=%ld)",
			 ms, jp_sysctl_read("perf_event_paranoid", 0));
	else
		snprintf(text, size, "though the target used %.3f ms of CPU time", ms);
}

static void keep_first_error(int *first, int ret, struct jp_error *err,
			     const struct jp_error *detail)
{
	if (!ret || *first)
		return;
	*first = ret;
	if (err)
		*err = *detail;
}

int jp_session_finish(struct jp_session *session, struct jp_error *err)
{
	struct jp_error detail = {""};
	int first = 0, ret;

	jp_session_end_sampling(session);
	keep_first_error(&first, session->worker.error, err, &session->worker.err);
	ret = session->capture->finish(session, &detail);
	keep_first_error(&first, ret, err, &detail);
	ret = jp_elf_copies_finish(session->copies, &detail);
	session->copies = NULL;
	keep_first_error(&first, ret, err, &detail);
	free_session(session);
	return first;
}
