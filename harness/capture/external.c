// SPDX-License-Identifier: GPL-2.0-only
/*
 * An external profiler as a capture: `launch-by NAME` makes it start the command, `attach-by NAME`
 * attach to a process, `gated-by NAME` (gated.c) switch its events for intervals. Its adapter
 * (docs/profiler-adapters.md) writes perf.data and `capture`; this file turns the adapter's lines
 * into the session's state.
 */
#include "harness/capture/external.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/arguments.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/excuse.h"
#include "harness/base/number.h"
#include "harness/base/path.h"
#include "harness/capture/adapter.h"
#include "harness/capture/probe.h"
#include "harness/capture/profilers.h"
#include "harness/capture/session.h"
#include "harness/capture/snapshot.h"
#include "harness/format/rundir/run_dir.h"

/* Links by which adapters publish perf maps, from /tmp/perf-PID.map to the file in the case's
 * folder (harness/profiler/adapting/protocol.py). A killed adapter leaves them. */

static bool is_map_name(const char *name)
{
	char digits[16];
	uint64_t pid;
	int end = 0;

	return sscanf(name, "perf-%15[0-9].map%n", digits, &end) == 1 && end && !name[end] &&
	       jp_number(digits, 1, INT32_MAX, &pid);
}

/* Returns whether the link @name was made for @dir: it is ours and leads there. /tmp is sticky, so
 * only root could have changed our link. */
static bool is_ours(int tmp, const char *name, const char *dir)
{
	char expected[4096], target[sizeof(expected)];
	struct stat st;
	ssize_t length;

	if (fstatat(tmp, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISLNK(st.st_mode) ||
	    st.st_uid != geteuid() ||
	    jp_path_build(expected, sizeof(expected), NULL, "%s/%s", dir, name))
		return false;
	length = readlinkat(tmp, name, target, sizeof(target));
	return length == (ssize_t)strlen(expected) && memcmp(target, expected, (size_t)length) == 0;
}

/* Removes the links to perf maps in @dir that a killed adapter left in /tmp. */
static void remove_published_links(const char *dir)
{
	jp_cleanup_closedir DIR *tmp = opendir("/tmp");
	struct dirent *entry;

	while (tmp && (entry = readdir(tmp)))
		if (is_map_name(entry->d_name) && is_ours(dirfd(tmp), entry->d_name, dir))
			unlinkat(dirfd(tmp), entry->d_name, 0);
}

/* The words that we send to the adapter, its answers, and texts for error messages that describe
 * the state of the protocol before and after the answer. */
static const struct order {
	const char *word, *answer, *before, *after;
} orders[] = {
	{NULL, "sampling", "before it sampled", "while it recorded"},
	{"enable", "enabled", "when asked to enable its events", "while it recorded"},
	{"disable", "disabled", "when asked to disable its events", "while it recorded"},
	{"stop", "stopped", "when asked to stop", "after it had stopped"},
	{"finish", "done", "when asked to finish", "after it was done"},
};
enum { BEGIN, ENABLE, DISABLE, STOP, FINISH };

struct jp_external {
	struct jp_session *session;
	struct jp_adapter adapter;
	pthread_t listener;
	bool listens;
	/* The last order; this and the members below are under the session's lock. */
	const struct order *order;
	bool has_answered; /* the adapter has answered @order */
	bool has_ended;    /* the adapter's output has ended */
	struct jp_error err;
};

static bool is_done(const struct jp_external *external)
{
	return external->order == &orders[FINISH] && external->has_answered;
}

/* Notes as an error that @line, a predicate about the adapter, is not allowed now. Keeps an
 * earlier error. */
static void refuse_line(struct jp_external *external, const char *line)
{
	const struct order *order = external->order;
	char expected[64];

	if (external->err.text[0])
		return;
	if (!external->has_answered)
		snprintf(expected, sizeof(expected), "'%s'", order->answer);
	else
		snprintf(expected, sizeof(expected), "%s",
			 is_done(external) ? "its end" : "'samples N' or 'exited'");
	jp_adapter_fail_broken(&external->adapter, line,
			       external->has_answered ? order->after : order->before, expected,
			       &external->err);
}

static bool is_count(const char *line, uint64_t *count)
{
	static const char word[] = "samples ";

	return strncmp(line, word, sizeof(word) - 1) == 0 &&
	       jp_number(line + sizeof(word) - 1, 0, UINT64_MAX, count);
}

/* Handles a line of the adapter. An answer that comes before its order is an error, and must not
 * count as that order's answer. */
static void handle_line(struct jp_external *external, const char *line)
{
	struct jp_session *session = external->session;
	const bool records =
		(external->order != &orders[BEGIN] || external->has_answered) && !is_done(external);
	struct jp_error answer;
	uint64_t samples;

	if (!external->has_answered && strcmp(line, external->order->answer) == 0) {
		external->has_answered = true;
	} else if (records && strcmp(line, "exited") == 0) {
		session->exited = true;
	} else if (records && is_count(line, &samples)) {
		session->samples = samples;
	} else if (!external->err.text[0] &&
		   !jp_profiler_has_crashed(session->dir, "record", line, &external->err)) {
		if (strncmp(line, "error ", 6) == 0 && line[6]) {
			jp_fail(&external->err, EIO, "%s", line + 6);
			return;
		}
		jp_fail(&answer, EPROTO, "wrote '%.300s'", line);
		refuse_line(external, answer.text);
	}
}

/* Reads lines until the adapter ends. */
static void *listen_to_adapter(void *context)
{
	struct jp_external *external = context;
	struct jp_session *session = external->session;
	char line[1024];
	int ret = 0;

	while (!ret) {
		struct jp_error answer = {""};
		bool has_exited;

		ret = jp_adapter_read_line(&external->adapter, line, sizeof(line), UINT64_MAX,
					   &answer);
		has_exited = ret == -EPIPE && jp_adapter_has_exited(&external->adapter);
		pthread_mutex_lock(&session->lock);
		if (!ret)
			handle_line(external, line);
		else if (!has_exited || !is_done(external))
			refuse_line(external, answer.text);
		external->has_ended = ret;
		session->failed |= external->err.text[0] != '\0';
		pthread_cond_broadcast(&session->changed);
		pthread_mutex_unlock(&session->lock);
	}
	return NULL;
}

/* Waits at most @seconds for the adapter's answer, or for its exit if @ends. Returns 0, or -EIO and
 * a message: the adapter's own error, or after @seconds "the adapter @otherwise". */
static int wait_for_adapter(struct jp_external *external, bool ends, unsigned int seconds,
			    const char *otherwise, struct jp_error *err)
{
	struct jp_session *session = external->session;
	const struct timespec deadline = jp_clock_timespec(jp_clock_now() + seconds * JP_NS_PER_S);
	int error = 0, ret = 0;

	pthread_mutex_lock(&session->lock);
	while (!(ends ? external->has_ended : external->has_answered) && !external->err.text[0] &&
	       !error)
		error = pthread_cond_timedwait(&session->changed, &session->lock, &deadline);
	if (error)
		refuse_line(external, otherwise);
	session->failed |= external->err.text[0] != '\0';
	if (external->err.text[0])
		ret = jp_fail(err, EIO, "%s", external->err.text);
	pthread_mutex_unlock(&session->lock);
	return ret;
}

enum { ANSWER_S = 60, END_S = 10, LAST_WORD_S = 1 }; /* time limits */

static int wait_for_answer(struct jp_external *external, struct jp_error *err)
{
	return wait_for_adapter(external, false, ANSWER_S, "did not answer in time", err);
}

/* Sends an order to the adapter and waits for its answer. */
static int give_order(struct jp_external *external, const struct order *order, struct jp_error *err)
{
	struct jp_session *session = external->session;
	int ret = 0;

	pthread_mutex_lock(&session->lock);
	if (external->err.text[0])
		ret = jp_fail(err, EIO, "%s", external->err.text);
	external->order = order;
	external->has_answered = false;
	pthread_mutex_unlock(&session->lock);
	if (ret)
		return ret;
	if (!jp_adapter_send(&external->adapter, order->word))
		return wait_for_answer(external, err);
	/* The write fails if the adapter has ended. Wait for its last line, which may state why. */
	return wait_for_adapter(external, false, LAST_WORD_S, "does not listen", err);
}

static void add_options(struct jp_arguments *arguments, const struct jp_session *session)
{
	const struct jp_capture_options *options = &session->options;

	jp_arguments_add(arguments, "--freq=%" PRIu32, jp_capture_frequency(options));
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

/* Starts the adapter. @argv: the profiler's name and its own options. */
static int start_adapter(struct jp_external *external, char **argv, char *environment,
			 struct jp_error *err)
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
	jp_profiler_add_words(&arguments, argv + 1);
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
		return jp_fail(err, ENOMEM, "out of memory for arguments");
	return jp_adapter_start(&external->adapter, argv[0], arguments.list, words,
				launches ? target->inherit_fds : NULL, err);
}

static int check_request(const struct jp_session *session, int argc, char **argv,
			 struct jp_error *err)
{
	if (argc < 2)
		return jp_fail(err, EINVAL, "%s: expected the profiler's name", argv[0]);
	if (!session->dir)
		return jp_fail(err, EINVAL,
			       "%s: this capture works only in cases, which have a run directory",
			       argv[0]);
	return 0;
}

int jp_external_begin(struct jp_session *session, int argc, char **argv, char *environment,
		      struct jp_error *err)
{
	struct jp_external *external;
	char version[256];
	int ret;

	if (check_request(session, argc, argv, err) ||
	    jp_profiler_version(argv[1], version, sizeof(version), err))
		return -EINVAL;
	external = session->external = calloc(1, sizeof(*external));
	if (!external)
		return jp_fail(err, ENOMEM, "out of memory for a profiler");
	external->session = session;
	external->order = &orders[BEGIN];
	external->adapter =
		(struct jp_adapter){.pidfd = -1, .request_fd = -1, .answer_fd = -1, .words_fd = -1};
	ret = jp_session_reach_boundary(session, "before-open", err)
		      ?: start_adapter(external, argv + 1, environment, err)
		      ?: jp_thread_start(&external->listener, listen_to_adapter, external, err);
	external->listens = !ret;
	return ret || wait_for_answer(external, err) ? -EIO : 0;
}

int jp_external_switch(struct jp_session *session, bool enable, struct jp_error *err)
{
	return give_order(session->external, &orders[enable ? ENABLE : DISABLE], err);
}

/* Opens the files mapped by the target for later unwinding, while the target lives. */
static void open_mapped_files(struct jp_session *session)
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
	open_mapped_files(session);
	/* jp_external_finish() reports errors. */
	give_order(session->external, &orders[STOP], NULL);
}

int jp_external_finish(struct jp_session *session, struct jp_error *err)
{
	struct jp_external *external = session->external;
	int ret = give_order(external, &orders[FINISH], err);

	if (ret)
		return ret;
	close(external->adapter.request_fd);
	external->adapter.request_fd = -1;
	return wait_for_adapter(external, true, END_S, "did not exit", err);
}

/* Writes the CPU time of the adapter and the profiler to @dir/cost, for `jitproof score`. */
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
	/* The listening thread ends only when the adapter ends. */
	if (external->adapter.pid &&
	    !(external->has_ended && jp_adapter_has_exited(&external->adapter)))
		kill(-external->adapter.pid, SIGKILL);
	if (external->listens)
		pthread_join(external->listener, NULL);
	jp_adapter_end(&external->adapter, false);
	remove_published_links(session->dir);
	/* For a launch, the adapter's CPU time would include that of the launched command. */
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

	/* Only -ENOENT means a missing profiler. A broken adapter is reported by
	 * jp_external_begin(). */
	if (count || argc < 2 ||
	    jp_profiler_supports(argv[1], launches ? "launch" : "attach", argv + 2, &err) !=
		    -ENOENT)
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

/* An external profiler starts the command (harness/profiler/NAME.py). */
JP_DEFINE(capture, launch_by) = {
	.name = "launch-by",
	.boundaries = boundaries,
	.traits = JP_CAPTURE_LAUNCHES | JP_CAPTURE_EXTERNAL,
	.probe = jp_external_probe,
	.begin = begin,
	.stop = jp_external_stop,
	.finish = jp_external_finish,
	.free = jp_external_free,
};

/* An external profiler attaches to a process. */
JP_DEFINE(capture, attach_by) = {
	.name = "attach-by",
	.boundaries = boundaries,
	.traits = JP_CAPTURE_EXTERNAL,
	.probe = jp_external_probe,
	.begin = begin,
	.stop = jp_external_stop,
	.finish = jp_external_finish,
	.free = jp_external_free,
};

/* The truth knows nothing about other processes, so their records have no bound. Their samples have
 * one: the CPU time that the workload leaves. */
static const struct jp_excuse excuses[] = {
	{"all-cpus.tasks", "-a", "tasks.strangers", "other-process", "samples.room",
	 "a capture of all CPUs contains other processes"},
	{"all-cpus.samples", "-a", "samples", "unwatched outside", "tasks.strangers",
	 "a capture of all CPUs contains other processes, also before the workload starts"},
	{"all-cpus.released", "-a", "tasks.strangers", "released", "modes.ended",
	 "a capture of all CPUs samples a thread even after it was released"},
	{"all-cpus.records", "-a",
	 "comm.records fork.records exit.records mappings.unknown injected.mappings inject.stray",
	 "other-process unwatched", NULL, "a capture of all CPUs contains other processes"},
};
JP_REGISTER_ROWS(excuse, excuses);
