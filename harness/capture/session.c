// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "harness/capture/session.h"
#include "harness/format/perfdata/format.h"

const char *const jp_attach_boundaries[] = {
	"before-open",
	"before-enable",   /* descriptors open, disabled */
	"before-threads",  /* enabled; between two passes over the thread list */
	"before-snapshot", /* thread list settled */
	"within-snapshot", /* between two reads of one maps file */
	"before-sampling", /* snapshot taken */
	NULL,
};

int jp_session_boundary(struct jp_session *session, const char *boundary, struct jp_error *err)
{
	struct jp_target *target = session->target;

	return target->boundary ? target->boundary(target->context, boundary, err) : 0;
}

/* Two descriptors for each thread and CPU are more than a thousand soon. */
static void raise_file_limit(struct jp_session *session)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &session->files);
	limit = session->files;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void make_attrs(struct jp_session *session)
{
	const bool on_exec = session->capture->launches && !session->capture->gated &&
			     !session->options.system_wide;

	if (session->capture->breakpoints)
		jp_attr_breakpoint(&session->attr[JP_SAMPLING], &session->options,
				   &session->abilities, 0);
	else
		jp_attr_sampling(&session->attr[JP_SAMPLING], &session->options,
				 &session->abilities, session->frequency);
	jp_attr_sideband(&session->attr[JP_SIDEBAND], &session->options, &session->abilities);
	if (on_exec) {
		session->attr[JP_SAMPLING].enable_on_exec = 1;
		session->attr[JP_SIDEBAND].enable_on_exec = 1;
	}
}

static int create_file(struct jp_session *session, struct jp_error *err)
{
	const char *user = session->abilities.kernel ? "" : ":u";
	char sampling[32], sideband[32];
	struct jp_perf_attr attrs[JP_STREAMS] = {0};
	const struct jp_perfdata_event events[JP_STREAMS] = {
		[JP_SAMPLING] = {&attrs[JP_SAMPLING], sampling},
		[JP_SIDEBAND] = {&attrs[JP_SIDEBAND], sideband},
	};
	struct jp_perfdata_writer *writer;

	snprintf(sampling, sizeof(sampling), "%s%s",
		 session->capture->breakpoints ? "breakpoint"
		 : session->options.task_clock ? "task-clock"
					       : "cpu-clock",
		 user);
	snprintf(sideband, sizeof(sideband), "dummy%s", user);
	for (int i = 0; i < JP_STREAMS; i++) {
		memcpy(&attrs[i], &session->attr[i], session->attr[i].size);
		jp_attr_layout(&session->attr[i], &session->layout[i]);
	}
	writer = jp_perfdata_create(session->output, events, JP_STREAMS, err);
	if (!writer)
		return -EIO;
	pthread_mutex_lock(&session->lock);
	session->writer = writer;
	pthread_mutex_unlock(&session->lock);
	return 0;
}

static int start_copies(struct jp_session *session, struct jp_error *err)
{
	int ret = jp_snapshot_file(session->dir, err);

	if (ret)
		return ret;
	session->copies = jp_elf_copies_start(session->dir, session->options.late_elf, err);
	return session->copies ? 0 : -EIO;
}

/* Someone else records: the clock is measured all the same. */
static int prepare_external(struct jp_session *session, struct jp_error *err)
{
	int ret = jp_clock_slack(session->cpus, session->nr_cpus, &session->info.slack, err);

	return ret || !session->dir ? ret : start_copies(session, err);
}

/* Everything up to the first event of the target. */
/* What of the options the kernel refuses, where one alone is to blame. */
static const char *blamed(const struct jp_session *session)
{
	struct jp_capture_options options = session->options;
	struct jp_abilities abilities;

	if (!options.deferred)
		return "";
	options.deferred = false;
	return jp_abilities_try(&options, &abilities)
		       ? ""
		       : " with attr.defer_callchain (deferred callchains)";
}

static int prepare(struct jp_session *session, struct jp_error *err)
{
	char reason[128];
	int ret;

	ret = jp_cpus_online(&session->cpus, err);
	if (ret < 0)
		return ret;
	session->nr_cpus = (unsigned int)ret;
	if (session->capture->external)
		return prepare_external(session, err);
	ret = jp_abilities_try(&session->options, &session->abilities);
	if (ret) {
		jp_perf_reason(-ret, reason, sizeof(reason));
		return jp_fail(err, -ret, "perf_event_open%s: %s", blamed(session), reason);
	}
	if (session->options.need_kernel && !session->abilities.kernel)
		return jp_fail(err, EOPNOTSUPP,
			       "the kernel may not be sampled (kernel.perf_event_paranoid=%ld)",
			       jp_sysctl("perf_event_paranoid", 0));
	/* An instruction of the target is none of the kernel's. */
	session->abilities.kernel &= !session->capture->breakpoints;
	ret = jp_clock_slack(session->cpus, session->nr_cpus, &session->info.slack, err);
	if (!ret)
		ret = jp_drain_start(session, err);
	if (!ret)
		ret = jp_rings_open(session, err);
	if (ret)
		return ret;
	make_attrs(session);
	ret = create_file(session, err);
	return ret || !session->dir ? ret : start_copies(session, err);
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

static void end_worker(struct jp_session *session)
{
	if (!session->worker_runs)
		return;
	pthread_mutex_lock(&session->lock);
	session->ending = true;
	pthread_cond_broadcast(&session->changed);
	pthread_mutex_unlock(&session->lock);
	if (session->worker_wake >= 0)
		eventfd_write(session->worker_wake, 1);
	pthread_join(session->worker, NULL);
	session->worker_runs = false;
}

int jp_session_thread(pthread_t *thread, void *(*work)(void *), void *context, struct jp_error *err)
{
	sigset_t all, old;
	int error;

	/* Signals are for the threads of whoever called us. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(thread, NULL, work, context);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return error ? jp_fail(err, error, "cannot start a thread: %s", strerror(error)) : 0;
}

int jp_session_work(struct jp_session *session, void *(*work)(void *), void *context,
		    struct jp_error *err)
{
	int ret = jp_session_thread(&session->worker, work, context, err);

	session->worker_runs = !ret;
	return ret;
}

static void session_free(struct jp_session *session)
{
	const int fds[] = {session->wake, session->epoll, session->target_fd, session->worker_wake};
	struct jp_error ignored;

	jp_external_end(session);
	end_worker(session);
	jp_external_free(session);
	if (!session->capture->external) {
		jp_drain_stop(session);
		jp_open_close(session, 0);
	}
	if (session->writer)
		jp_perfdata_close(session->writer, session->first_sample, session->last_sample,
				  &ignored);
	jp_elf_copies_finish(session->copies, &ignored);
	jp_rings_close(session);
	jp_gate_free(session->gate);
	jp_backfill_free(session->backfill);
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	for (int i = 0; i < JP_STREAMS; i++)
		jp_event_owner_free(&session->event_owners[i]);
	jp_event_owner_free(&session->ids);
	jp_event_owner_free(&session->fork_times);
	jp_event_owner_free(&session->hits);
	setrlimit(RLIMIT_NOFILE, &session->files);
	pthread_cond_destroy(&session->changed);
	pthread_mutex_destroy(&session->lock);
	free(session->opened);
	free(session->cpus);
	free(session->output);
	free(session->dir);
	free(session);
}

struct jp_session *jp_session_start(const struct jp_capture *capture, int argc, char **argv,
				    const struct jp_capture_options *options,
				    struct jp_target *target, const char *dir, const char *output,
				    struct jp_error *err)
{
	struct jp_session *session = calloc(1, sizeof(*session));
	int ret;

	if (!session) {
		jp_fail(err, ENOMEM, "no memory for a session");
		return NULL;
	}
	session->capture = capture;
	session->options = *options;
	session->target = target;
	session->wake = session->epoll = session->target_fd = session->worker_wake = -1;
	session->order = "enable-first";
	session->settled = true;
	session->hold_rounds = true;
	session->began = jp_capture_now();
	session->info.max_stack = (uint64_t)jp_sysctl("perf_event_max_stack", 127);
	session->info.stack_dump = options->stack;
	snprintf(session->info.policy, sizeof(session->info.policy), "%s",
		 jp_synth_text(options->synth));
	init_locks(session);
	raise_file_limit(session);
	session->dir = dir ? strdup(dir) : NULL;
	if (dir && asprintf(&session->output, "%s/perf.data", dir) < 0)
		session->output = NULL;
	else if (!dir)
		session->output = strdup(output);
	if (!session->output || (dir && !session->dir))
		ret = jp_fail(err, ENOMEM, "no memory for a session");
	else
		ret = prepare(session, err) ?: capture->begin(session, argc, argv, err);
	if (!ret)
		return session;
	session_free(session);
	errno = -ret;
	return NULL;
}

static int open_all(struct jp_session *session, enum jp_stream stream, struct jp_error *err)
{
	unsigned int news;
	int ret;

	if (!session->options.system_wide)
		return jp_threads_open(session, stream, 0, &news, err);
	ret = jp_open_thread(session, stream, -1, err);
	return ret == -ESRCH ? jp_fail(err, ESRCH, "perf_event_open: ESRCH system-wide") : ret;
}

void jp_session_tell_kernel(struct jp_session *session)
{
	if (!session->abilities.kernel)
		return;
	pthread_mutex_lock(&session->lock);
	jp_synthesize_kernel(session, session->began);
	pthread_mutex_unlock(&session->lock);
}

void jp_session_sampling(struct jp_session *session)
{
	session->info.sampling = jp_capture_now();
	pthread_mutex_lock(&session->lock);
	session->hold_rounds = false;
	pthread_mutex_unlock(&session->lock);
}

static int start_sampling(struct jp_session *session, struct jp_error *err)
{
	int ret = open_all(session, JP_SAMPLING, err);

	if (!ret)
		ret = jp_open_enable(session, JP_SAMPLING, err);
	if (!ret && !session->options.system_wide)
		ret = jp_threads_settle(session, JP_SAMPLING, err);
	if (!ret)
		jp_session_sampling(session);
	return ret;
}

/* From no events to sideband that tells of everything that any thread does. */
static int start_sideband(struct jp_session *session, struct jp_error *err)
{
	int ret = jp_session_boundary(session, "before-open", err);

	if (!ret)
		ret = open_all(session, JP_SIDEBAND, err);
	if (!ret)
		jp_session_tell_kernel(session);
	if (!ret)
		ret = jp_session_boundary(session, "before-enable", err);
	if (!ret)
		ret = jp_open_enable(session, JP_SIDEBAND, err);
	session->first_enabled = jp_capture_now();
	if (!ret)
		ret = jp_session_boundary(session, "before-threads", err);
	if (!ret && !session->options.system_wide)
		ret = jp_threads_settle(session, JP_SIDEBAND, err);
	session->info.enabled = jp_capture_now();
	return ret;
}

int jp_session_attach(struct jp_session *session, bool snapshot_first, bool sample,
		      struct jp_error *err)
{
	int ret = 0;

	if (session->target->pid > 0 && kill(session->target->pid, 0) && errno == ESRCH)
		return jp_fail(err, ESRCH, "no process %d", session->target->pid);
	if (session->target->pid > 0)
		jp_drain_watch(session, session->target->pid);
	if (snapshot_first) {
		/* The control: what is mapped from here until events are enabled, nobody tells. */
		session->order = "snapshot-first";
		ret = jp_snapshot_take(session, err);
	}
	if (!ret)
		ret = start_sideband(session, err);
	if (!ret)
		ret = jp_session_boundary(session, "before-snapshot", err);
	if (!ret && !snapshot_first)
		ret = jp_snapshot_take(session, err);
	if (!ret)
		ret = jp_session_boundary(session, "before-sampling", err);
	if (!ret && sample)
		ret = start_sampling(session, err);
	return ret;
}

uint64_t jp_session_samples(const struct jp_session *session)
{
	struct jp_session *mine = (struct jp_session *)session;
	uint64_t samples;

	pthread_mutex_lock(&mine->lock);
	samples = session->samples;
	pthread_mutex_unlock(&mine->lock);
	return samples;
}

bool jp_session_complete(const struct jp_session *session)
{
	struct jp_session *mine = (struct jp_session *)session;
	bool complete;

	pthread_mutex_lock(&mine->lock);
	complete = session->complete;
	pthread_mutex_unlock(&mine->lock);
	return complete;
}

void jp_session_interrupt(struct jp_session *session)
{
	int error = errno;

	__atomic_store_n(&session->interrupt, 1, __ATOMIC_RELEASE);
	jp_drain_wake(session);
	errno = error;
}

enum jp_wait jp_session_wait(struct jp_session *session, uint64_t samples, uint64_t deadline)
{
	const struct timespec until = {.tv_sec = (time_t)(deadline / 1000000000),
				       .tv_nsec = (long)(deadline % 1000000000)};
	enum jp_wait what = JP_WAIT_DEADLINE;
	int error = 0;

	pthread_mutex_lock(&session->lock);
	for (;;) {
		if (samples && session->samples >= samples)
			what = JP_WAIT_SAMPLES;
		else if (session->complete)
			what = JP_WAIT_COMPLETE;
		else if (session->exited)
			what = JP_WAIT_EXITED;
		else if (error != ETIMEDOUT) {
			error = pthread_cond_timedwait(&session->changed, &session->lock, &until);
			continue;
		}
		break;
	}
	pthread_mutex_unlock(&session->lock);
	return what;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void stop(struct jp_session *session)
{
	if (session->stopped)
		return;
	session->stopped = true;
	end_worker(session);
	if (session->external) {
		jp_external_stop(session);
		return;
	}
	session->info.stopped = jp_capture_now();
	/* Sideband outlives sampling, so that every sample's mappings are told. */
	jp_open_disable(session, JP_SAMPLING);
	jp_open_disable(session, JP_SIDEBAND);
	jp_drain_stop(session);
	jp_open_close(session, 0);
	session->info.lost_samples =
		larger(session->lost_records[JP_SAMPLING], session->lost_counted[JP_SAMPLING]);
	session->info.lost_sideband =
		larger(session->lost_records[JP_SIDEBAND], session->lost_counted[JP_SIDEBAND]);
	session->info.duplicates = session->duplicates[JP_SAMPLING];
}

void jp_session_stop(struct jp_session *session, uint64_t *lost_samples, uint64_t *lost_sideband)
{
	stop(session);
	*lost_samples = session->info.lost_samples;
	*lost_sideband = session->info.lost_sideband;
}

/* The first failure is the one that is told. */
static void keep_first(int *first, int ret, struct jp_error *err, const struct jp_error *detail)
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
	uint64_t unsaid;
	int first = 0, ret;

	stop(session);
	if (session->external) {
		keep_first(&first, session->worker_error, err, &session->worker_err);
		ret = jp_external_finish(session, &detail);
		keep_first(&first, ret, err, &detail);
		ret = jp_elf_copies_finish(session->copies, &detail);
		session->copies = NULL;
		keep_first(&first, ret, err, &detail);
		session_free(session);
		return first;
	}
	keep_first(&first, session->worker_error, err, &session->worker_err);
	/* What a ring that stayed full to the end could not say, the file says all the same. */
	unsaid = session->info.lost_samples - session->lost_records[JP_SAMPLING];
	if (unsaid)
		jp_synthesize_lost(session, unsaid, jp_capture_now());
	ret = jp_perfdata_close(session->writer, session->first_sample, session->last_sample,
				&detail);
	session->writer = NULL;
	keep_first(&first, ret, err, &detail);
	ret = jp_elf_copies_finish(session->copies, &detail);
	session->copies = NULL;
	keep_first(&first, ret, err, &detail);
	if (session->dir && !first)
		first = jp_session_info_write(session, err);
	session_free(session);
	return first;
}
