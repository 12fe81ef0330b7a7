// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any profiler as a capture: `launch-by NAME` has it start the command, `attach-by NAME` has
 * it watch a process, `gated-by NAME` (gated.c) switches its events on and off meanwhile. Its
 * adapter (docs/profiler-adapters.md) writes perf.data and `capture`; here its words become what
 * the session knows.
 */
#include "harness/capture/external.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/arguments.h"
#include "harness/base/clock.h"
#include "harness/base/number.h"
#include "harness/base/path.h"
#include "harness/capture/adapter.h"
#include "harness/capture/probe.h"
#include "harness/capture/profilers.h"
#include "harness/capture/session.h"
#include "harness/capture/snapshot.h"
#include "harness/capture/worker.h"
#include "harness/format/rundir/run_dir.h"

enum said { SAMPLING = 1, STOPPED = 2, DONE = 4, ENDED = 8, SWITCHED = 16 };

struct jp_external {
	struct jp_session *session;
	struct jp_adapter adapter;
	pthread_t listener;
	bool listens;
	unsigned int said;  /* under the session's lock, as all that follows */
	unsigned int asked; /* what it may say */
	struct jp_error err;
};

/* "error WHY", or no word of the protocol at all. */
static void refuse(struct jp_external *external, const char *line)
{
	if (strncmp(line, "error ", 6) == 0 && line[6]) {
		snprintf(external->err.text, sizeof(external->err.text), "%s", line + 6);
		return;
	}
	jp_fail(&external->err, EPROTO,
		"the profiler's adapter said '%.300s', which is no word of the protocol", line);
	jp_adapter_words(&external->adapter, &external->err);
}

/* The answer that @line is; 0: none. */
static unsigned int answer_of(const char *line)
{
	static const struct {
		const char *word;
		enum said said;
	} answers[] = {{"sampling", SAMPLING},
		       {"stopped", STOPPED},
		       {"done", DONE},
		       {"enabled", SWITCHED},
		       {"disabled", SWITCHED}};

	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++)
		if (strcmp(line, answers[i].word) == 0)
			return answers[i].said;
	return 0;
}

static bool is_count(const char *line, uint64_t *count)
{
	static const char word[] = "samples ";

	return strncmp(line, word, sizeof(word) - 1) == 0 &&
	       jp_number(line + sizeof(word) - 1, 0, UINT64_MAX, count);
}

/* An answer that comes before its question would be believed once it is asked. */
static void take(struct jp_external *external, const char *line)
{
	struct jp_session *session = external->session;
	const unsigned int answer = answer_of(line);
	uint64_t samples;

	if (answer & external->asked & ~external->said)
		external->said |= answer;
	else if (answer && !external->err.text[0])
		jp_fail(&external->err, EPROTO,
			"the profiler's adapter said '%s', for which nobody asked", line);
	else if (strcmp(line, "exited") == 0)
		session->exited = true;
	else if (is_count(line, &samples))
		session->samples = samples;
	else if (!external->err.text[0] &&
		 !jp_profiler_crashed(session->dir, "record", line, &external->err))
		refuse(external, line);
}

/* Listens until the adapter ends. */
static void *listen_to(void *context)
{
	struct jp_external *external = context;
	struct jp_session *session = external->session;
	char line[1024];
	int ret = 0;

	while (!ret) {
		struct jp_error err = {""};

		ret = jp_adapter_line(&external->adapter, line, sizeof(line), UINT64_MAX, &err);
		pthread_mutex_lock(&session->lock);
		if (!ret)
			take(external, line);
		else
			external->said |= ENDED;
		session->exited |= ret;
		if (ret && ret != -EPIPE && !external->err.text[0])
			external->err = err;
		pthread_cond_broadcast(&session->changed);
		pthread_mutex_unlock(&session->lock);
	}
	return NULL;
}

/* Until it said @what; -EIO where it says something is wrong first, or ends. */
static int wait_for(struct jp_external *external, unsigned int what, const char *when,
		    struct jp_error *err)
{
	enum { SECONDS = 60 };
	struct jp_session *session = external->session;
	const struct timespec until = jp_clock_timespec(jp_clock_now() + SECONDS * JP_NS_PER_S);
	int error = 0, ret = 0;

	pthread_mutex_lock(&session->lock);
	while (!(external->said & (what | ENDED)) && !external->err.text[0] && !error)
		error = pthread_cond_timedwait(&session->changed, &session->lock, &until);
	if (external->err.text[0])
		ret = jp_fail(err, EIO, "%s", external->err.text);
	else if (!(external->said & what))
		ret = jp_fail(err, EIO, "the profiler's adapter %s %s",
			      external->said & ENDED ? "ended" : "did not answer", when);
	if (ret && !external->err.text[0] && err)
		jp_adapter_words(&external->adapter, err);
	pthread_mutex_unlock(&session->lock);
	return ret;
}

/* Gives an order, and waits for its answer. */
static int ask(struct jp_external *external, const char *order, unsigned int what, const char *when,
	       struct jp_error *err)
{
	struct jp_session *session = external->session;

	pthread_mutex_lock(&session->lock);
	external->asked |= what;
	external->said &= ~what;
	pthread_mutex_unlock(&session->lock);
	return jp_adapter_say(&external->adapter, order, err)
		       ?: wait_for(external, what, when, err);
}

static void add_options(struct jp_arguments *arguments, const struct jp_session *session)
{
	const struct jp_capture_options *options = &session->options;

	jp_arguments_add(arguments, "--freq=%" PRIu32, options->frequency);
	jp_arguments_add(arguments, "--slack=%" PRIu64, session->info.slack);
	jp_arguments_add(arguments, "--max-stack=%" PRIu64, session->info.max_stack);
	if (options->stack)
		jp_arguments_add(arguments, "--stack=%" PRIu32, options->stack);
	if (options->ring)
		jp_arguments_add(arguments, "--ring=%" PRIu64, options->ring);
	if (!options->chain)
		jp_arguments_add(arguments, "--no-chain");
	if (!options->kernel)
		jp_arguments_add(arguments, "--user-only");
	if (options->task_clock)
		jp_arguments_add(arguments, "--task-clock");
}

/* @argv: the profiler's name, and options of its own. */
static int start(struct jp_external *external, char **argv, char *environment, struct jp_error *err)
{
	jp_cleanup_arguments struct jp_arguments arguments = {0};
	const struct jp_session *session = external->session;
	const struct jp_target *target = session->target;
	const bool launches = session->capture->traits & JP_CAPTURE_LAUNCHES;
	char words[4096];
	int ret = jp_path_build(words, sizeof(words), err, "%s/profiler.txt", session->dir);

	if (ret)
		return ret;
	jp_arguments_add(&arguments, "%s", launches ? "launch" : "attach");
	jp_arguments_add(&arguments, "--dir");
	jp_arguments_add(&arguments, "%s", session->dir);
	add_options(&arguments, session);
	jp_profiler_words(&arguments, argv + 1);
	if (environment) {
		jp_arguments_add(&arguments, "--gated");
		jp_arguments_add(&arguments, "%s", environment);
	}
	if (launches) {
		for (int i = 0; i < 4 && target->inherit_fds[i] >= 0; i++)
			jp_arguments_add(&arguments, "--keep-fd=%d", target->inherit_fds[i]);
		jp_arguments_add(&arguments, "--");
		jp_arguments_add_all(&arguments, target->command);
	} else {
		jp_arguments_add(&arguments, "--pid=%d", target->pid);
	}
	if (arguments.failed)
		return jp_fail(err, ENOMEM, "no memory for arguments");
	return jp_adapter_start(&external->adapter, argv[0], arguments.list, words,
				launches ? target->inherit_fds : NULL, err);
}

static int check(const struct jp_session *session, int argc, char **argv, struct jp_error *err)
{
	if (argc < 2)
		return jp_fail(err, EINVAL, "%s: expected the profiler's name", argv[0]);
	if (session->options.system_wide || session->options.all_maps)
		return jp_fail(err, EINVAL, "%s: --system-wide and --all-maps are not for it",
			       argv[0]);
	if (!session->dir)
		return jp_fail(err, EINVAL, "%s: only for cases: it writes a run directory",
			       argv[0]);
	return 0;
}

int jp_external_begin(struct jp_session *session, int argc, char **argv, char *environment,
		      struct jp_error *err)
{
	struct jp_external *external;
	char version[256];
	int ret;

	if (check(session, argc, argv, err) ||
	    jp_profiler_version(argv[1], version, sizeof(version), err))
		return -EINVAL;
	external = session->external = calloc(1, sizeof(*external));
	if (!external)
		return jp_fail(err, ENOMEM, "no memory for a profiler");
	external->session = session;
	external->asked = SAMPLING;
	external->adapter = (struct jp_adapter){.in = -1, .out = -1, .words_fd = -1};
	ret = jp_session_boundary(session, "before-open", err)
		      ?: start(external, argv + 1, environment, err)
		      ?: jp_thread_start(&external->listener, listen_to, external, err);
	external->listens = !ret;
	return ret || wait_for(external, SAMPLING, "before it sampled", err) ? -EIO : 0;
}

int jp_external_switch(struct jp_session *session, bool on, struct jp_error *err)
{
	struct jp_external *external = session->external;

	return ask(external, on ? "enable" : "disable", SWITCHED,
		   "when its events were to be switched", err);
}

/* What unwinding needs of the files that are mapped: only while the process lives. */
static void want_files(struct jp_session *session)
{
	struct jp_reading reading = {0};
	bool within_done = true;

	if (!session->options.stack || session->target->pid <= 0)
		return;
	if (!jp_snapshot_read(session, session->target->pid, &within_done, &reading, NULL))
		jp_reading_want_files(session, session->target->pid, &reading, NULL);
	free(reading.bytes);
}

void jp_external_stop(struct jp_session *session)
{
	struct jp_external *external = session->external;
	struct jp_error err = {""};

	want_files(session);
	if (ask(external, "stop", STOPPED, "when it was to stop", &err)) {
		pthread_mutex_lock(&session->lock);
		if (!external->err.text[0])
			external->err = err;
		pthread_mutex_unlock(&session->lock);
	}
}

int jp_external_finish(struct jp_session *session, struct jp_error *err)
{
	struct jp_external *external = session->external;

	if (external->err.text[0])
		return jp_fail(err, EIO, "%s", external->err.text);
	return ask(external, "finish", DONE, "before it was done", err);
}

/* Whether it goes by itself: what is done says so, and listens no more. */
static bool leaves(struct jp_external *external)
{
	enum { SECONDS = 10 };
	struct jp_session *session = external->session;
	const struct timespec until = jp_clock_timespec(jp_clock_now() + SECONDS * JP_NS_PER_S);
	int error = 0;

	if (!(external->said & DONE))
		return false;
	close(external->adapter.in);
	external->adapter.in = -1;
	pthread_mutex_lock(&session->lock);
	while (external->listens && !(external->said & ENDED) && !error)
		error = pthread_cond_timedwait(&session->changed, &session->lock, &until);
	pthread_mutex_unlock(&session->lock);
	return !error;
}

/* For scoreboards. */
static void write_cost(const char *dir, uint64_t cpu)
{
	char text[64];

	snprintf(text, sizeof(text), "profiler_cpu %" PRIu64 "\n", cpu);
	jp_run_dir_write(dir, "cost", text, NULL);
}

void jp_external_free(struct jp_session *session)
{
	struct jp_external *external = session->external;

	if (!external)
		return;
	/* The listening thread goes by the end of what it reads. */
	if (external->adapter.pid && !leaves(external))
		kill(-external->adapter.pid, SIGKILL);
	if (external->listens)
		pthread_join(external->listener, NULL);
	jp_adapter_end(&external->adapter, false);
	/* What it launched would be in it. */
	if (!(session->capture->traits & JP_CAPTURE_LAUNCHES))
		write_cost(session->dir, external->adapter.cpu);
	free(external);
}

int jp_external_probe(const struct jp_capture_options *options, int argc, char **argv,
		      char *missing, size_t size)
{
	int count = jp_probe_clock(options, argc, argv, missing, size);
	const struct jp_capture *capture = jp_registry_find(JP_CAPTURE, argv[0]);
	const bool launches = capture && capture->traits & JP_CAPTURE_LAUNCHES;
	struct jp_error err = {""};

	/* A broken adapter is not missing: jp_external_begin() meets it again. */
	if (count || argc < 2 ||
	    jp_profiler_can(argv[1], launches ? "launch" : "attach", argv + 2, &err) != -ENOENT)
		return count;
	snprintf(missing, size, "%s", err.text);
	return 1;
}

static int begin(struct jp_session *session, int argc, char **argv, struct jp_error *err)
{
	return jp_session_prepare(session, err)
		       ?: jp_external_begin(session, argc, argv, NULL, err);
}

static const char *const boundaries[] = {"before-open", NULL};

/* A command that an external profiler starts (harness/profiler/NAME.py). */
static const struct jp_capture launch_by = {
	.name = "launch-by",
	.boundaries = boundaries,
	.traits = JP_CAPTURE_LAUNCHES | JP_CAPTURE_EXTERNAL,
	.probe = jp_external_probe,
	.begin = begin,
	.stop = jp_external_stop,
	.finish = jp_external_finish,
	.free = jp_external_free,
};
JP_REGISTER(capture, launch_by);

/* A process that an external profiler attaches to. */
static const struct jp_capture attach_by = {
	.name = "attach-by",
	.boundaries = boundaries,
	.traits = JP_CAPTURE_EXTERNAL,
	.probe = jp_external_probe,
	.begin = begin,
	.stop = jp_external_stop,
	.finish = jp_external_finish,
	.free = jp_external_free,
};
JP_REGISTER(capture, attach_by);
