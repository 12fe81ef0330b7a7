// SPDX-License-Identifier: GPL-2.0-only
#include "harness/run/runner.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/capture/capture.h"
#include "harness/run/inside.h"
#include "harness/base/interrupt.h"
#include "harness/run/environment.h"
#include "harness/inject/inject.h"
#include "harness/base/json_find.h"
#include "harness/base/registry.h"
#include "harness/run/workload_process.h"
#include "harness/capture/adapter.h"

/* A workload that was told to stop finishes its paths, joins its threads and leaves. */
#define STOP_NS 5000000000ull
/* How often a wait for samples looks whether the run was interrupted. */
#define SLICE_NS 100000000ull
/* perf takes 12 s for 100,000 functions; a profiler that takes longer hangs. */
#define INJECT_NS 120000000000ull

int jp_runner_open(struct jp_runner *runner, uint64_t seed, struct jp_error *err)
{
	int ret = jp_interrupt_watch();
	ssize_t length;
	size_t size;
	FILE *out;

	if (ret)
		return jp_fail(err, -ret, "signals: %s", strerror(-ret));
	length = readlink("/proc/self/exe", runner->self, sizeof(runner->self) - 1);
	if (length < 0)
		return jp_fail(err, errno, "/proc/self/exe: %s", strerror(errno));
	runner->self[length] = '\0';
	runner->seed = seed;
	jp_environment_forget();
	out = open_memstream(&runner->environment, &size);
	if (!out)
		return jp_fail(err, ENOMEM, "out of memory");
	jp_environment_write(out, seed);
	fclose(out);
	return 0;
}

void jp_runner_close(struct jp_runner *runner)
{
	free(runner->environment);
}

struct running {
	const struct jp_runner *runner;
	const struct jp_case *cas;
	const char *dir;
	struct jp_result *result;
	const struct jp_capture *capture;
	struct jp_capture_options options;
	char **capture_argv; /* the capture's own: without what the options took */
	int capture_argc;
	struct jp_workload_process process;
	uint64_t deadline;
	bool stepped;
};

static void end(struct running *run, enum jp_outcome outcome, const char *text)
{
	run->result->outcome = outcome;
	snprintf(run->result->why, sizeof(run->result->why), "%s", text);
}

/* What the performer or the session answered, as an outcome with the workload's last words. */
static void end_with(struct running *run, int ret, const struct jp_error *err)
{
	char words[900], why[2000];

	if (ret == -EOPNOTSUPP) { /* the workload says so, or a capture of what it was asked for */
		end(run, JP_SKIP, err->text);
		return;
	}
	jp_workload_process_last_words(&run->process, words, sizeof(words));
	snprintf(why, sizeof(why), "%s%s", err->text[0] ? err->text : strerror(-ret), words);
	end(run, ret == -ETIMEDOUT ? JP_TIMEOUT : JP_ERROR, why);
}

static int take_options(struct running *run, struct jp_error *err)
{
	const struct jp_case *cas = run->cas;

	run->capture = jp_registry_find(JP_CAPTURE, cas->capture_argv[0]);
	if (!run->capture)
		return jp_fail(err, EINVAL, "no capture '%s'", cas->capture_argv[0]);
	run->options = jp_capture_defaults();
	run->capture_argv = calloc((size_t)cas->capture_argc + 1, sizeof(char *));
	if (!run->capture_argv)
		return jp_fail(err, ENOMEM, "out of memory");
	for (int i = 0; i < cas->capture_argc; i++) {
		int ret = i ? jp_capture_option(&run->options, cas->capture_argv[i], err) : 0;

		if (ret < 0)
			return ret;
		if (!ret)
			run->capture_argv[run->capture_argc++] = cas->capture_argv[i];
	}
	return 0;
}

/* self workload NAME --truth DIR/truth --seed N --ready-fd N --control-fd N
 * [--publish=HOW --publish-dir=DIR] ARGS */
static char **command_of(const struct running *run)
{
	const struct jp_case *cas = run->cas;
	char **argv = calloc((size_t)cas->workload_argc + 13, sizeof(*argv));
	char *numbers = malloc(2 * strlen(run->dir) + 256);
	int at = 0;

	if (!argv || !numbers) {
		free(argv);
		free(numbers);
		return NULL;
	}
	argv[at++] = (char *)run->runner->self;
	argv[at++] = "workload";
	argv[at++] = cas->workload_argv[0];
	argv[at++] = "--truth";
	argv[at++] = numbers;
	numbers += sprintf(numbers, "%s/truth", run->dir) + 1;
	argv[at++] = "--seed";
	argv[at++] = numbers;
	numbers += sprintf(numbers, "%" PRIu64, run->runner->seed) + 1;
	argv[at++] = "--ready-fd";
	argv[at++] = numbers;
	numbers += sprintf(numbers, "%d", run->process.child_fd[0]) + 1;
	argv[at++] = "--control-fd";
	argv[at++] = numbers;
	numbers += sprintf(numbers, "%d", run->process.child_fd[1]) + 1;
	if (cas->publish) {
		argv[at++] = numbers;
		numbers += sprintf(numbers, "--publish=%.100s", cas->publish) + 1;
		argv[at++] = numbers;
		sprintf(numbers, "--publish-dir=%s", run->dir);
	}
	for (int i = 1; i < cas->workload_argc; i++)
		argv[at++] = cas->workload_argv[i];
	return argv;
}

static void free_command(char **argv)
{
	if (argv)
		free(argv[4]); /* the numbers live behind the truth's path */
	free(argv);
}

static int at_boundary(void *context, const char *boundary, struct jp_error *err)
{
	struct running *run = context;

	/* A boundary may come again and again, as passes over the threads do: one step is enough.
	 */
	if (!run->cas->step.boundary || run->stepped ||
	    strcmp(boundary, run->cas->step.boundary) != 0)
		return 0;
	run->stepped = true;
	return jp_workload_process_step(&run->process, run->cas->step.command, run->deadline, err);
}

/* Samples outside of emitted code and inside of brackets are not judged: take some more. */
static uint64_t samples_wanted(const struct jp_case *cas)
{
	return (uint64_t)cas->samples + cas->samples / 4 + 100;
}

static int wait_samples(struct running *run, struct jp_session *session, uint64_t base,
			struct jp_error *err)
{
	/* A breakpoint capture knows itself when it has all that it came for. */
	uint64_t wanted = run->capture->breakpoints ? 0 : base + samples_wanted(run->cas);

	/* A gated workload says "ready" when the last interval is over. */
	if (run->capture->gated)
		return 0;

	for (;;) {
		uint64_t slice = jp_workload_process_clock() + SLICE_NS;

		if (slice > run->deadline)
			slice = run->deadline;
		switch (jp_session_wait(session, wanted, slice)) {
		case JP_WAIT_SAMPLES:
		case JP_WAIT_COMPLETE:
			return 0;
		case JP_WAIT_EXITED:
			return jp_fail(err, EPIPE, "the workload ended while it was watched");
		case JP_WAIT_DEADLINE:
			break;
		}
		if (jp_interrupt_signal())
			return jp_fail(err, EINTR, "interrupted while sampling");
		/* Too little is for the judge to say: it knows what was judged. */
		if (jp_workload_process_clock() >= run->deadline)
			return 0;
	}
}

/* What a capture launches inherits our standard descriptors: they are the workload's meanwhile. */
static struct jp_session *start_session(struct running *run, struct jp_target *target,
					struct jp_error *err)
{
	struct jp_session *session = NULL;
	int saved[3], code;

	if (!run->capture->launches)
		return jp_session_start(run->capture, run->capture_argc, run->capture_argv,
					&run->options, target, run->dir, NULL, err);
	if (!jp_workload_process_redirect(&run->process, saved, err))
		session = jp_session_start(run->capture, run->capture_argc, run->capture_argv,
					   &run->options, target, run->dir, NULL, err);
	code = errno;
	jp_workload_process_restore(saved);
	run->process.pid = target->pid;
	errno = code;
	return session;
}

/* From nothing to a closed capture of a workload that ended well. */
static int perform(struct running *run, struct jp_error *err)
{
	struct jp_target target = {.inherit_fds = {-1, -1, -1, -1},
				   .dies_with_us = true,
				   .boundary = at_boundary,
				   .context = run};
	char path[4096], **command = NULL;
	struct jp_error finish_err = {""};
	struct jp_session *session = NULL;
	uint64_t base = 0, lost;
	int ret;

	snprintf(path, sizeof(path), "%s/workload.txt", run->dir);
	ret = jp_workload_process_open(&run->process, path, err);
	if (ret)
		return ret;
	command = command_of(run);
	if (!command)
		return jp_fail(err, ENOMEM, "out of memory");
	if (run->capture->launches) {
		target.command = command;
		target.inherit_fds[0] = run->process.child_fd[0];
		target.inherit_fds[1] = run->process.child_fd[1];
	} else {
		ret = jp_workload_process_start(&run->process, command, err);
		if (!ret)
			ret = jp_workload_process_wait_ready(&run->process, run->deadline, err);
		if (ret)
			goto out;
		target.pid = run->process.pid;
	}
	snprintf(path, sizeof(path), "%s/truth", run->dir);
	target.truth = path;
	session = start_session(run, &target, err);
	if (!session) {
		ret = errno == EOPNOTSUPP ? -EOPNOTSUPP : -EIO;
		if (jp_interrupt_signal())
			ret = -EINTR;
		/* A step that hung makes the case a TIMEOUT. */
		if (run->stepped && jp_workload_process_clock() >= run->deadline)
			ret = -ETIMEDOUT;
		goto out;
	}
	if (run->capture->launches) {
		jp_workload_process_started(&run->process);
		run->process.external = run->capture->external;
		ret = jp_workload_process_wait_ready(&run->process, run->deadline, err);
		target.pid = run->process.pid;
		base = jp_session_samples(session);
	}
	if (!ret && run->cas->step.command && !run->stepped)
		ret = jp_fail(err, EIO, "the capture never came to the boundary of step '%s'",
			      run->cas->step.command);
	if (!ret)
		ret = wait_samples(run, session, base, err);
	/* What a profiler launched must end before the profiler is done. */
	if (run->process.external) {
		jp_session_stop(session, &lost, &lost);
		if (!ret)
			ret = jp_workload_process_stop(&run->process,
						       jp_workload_process_clock() + STOP_NS, err);
	}
	/* Where a profiler ended early, why it did says more than that it did. */
	if (jp_session_finish(session, &finish_err) &&
	    (!ret || (ret == -EPIPE && run->capture->external)))
		ret = jp_fail(err, EIO, "%s", finish_err.text);
	if (!ret && !run->process.external)
		ret = jp_workload_process_stop(&run->process, jp_workload_process_clock() + STOP_NS,
					       err);
out:
	free_command(command);
	return ret;
}

static void said(void *context, const char *text)
{
	fprintf(context, "%s\n", text);
}

static bool by_profiler(const struct jp_case *cas)
{
	enum jp_anon ours;

	return cas->inject && !jp_anon_find(cas->inject, &ours);
}

/* Whether the profilers that the case names can run here; else what is missing. */
static bool profilers_there(const struct running *run, struct jp_error *missing)
{
	const char *const names[] = {
		run->capture->external && run->capture_argc > 1 ? run->capture_argv[1] : NULL,
		by_profiler(run->cas) ? run->cas->inject : NULL,
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *const path[] = {"tools", names[i], NULL};
		char version[256];

		if (names[i] &&
		    !jp_json_find(run->runner->environment, path, version, sizeof(version)) &&
		    jp_profiler_version(names[i], version, sizeof(version), missing))
			return false;
	}
	return true;
}

/* perf.data and the jitdumps become injected.data and the ELF files in jit/; what there is to say
 * of it stands in inject.txt. */
static int inject(const struct running *run, struct jp_error *err)
{
	const char *how = run->cas->inject;
	struct jp_inject_summary summary;
	char input[4096], output[4096], folder[4096], text[4096];
	struct jp_inject_options options = {
		.input = input,
		.output = output,
		.folder = folder,
	};
	FILE *words;
	int ret;

	if (!jp_anon_find(how, &options.anon))
		return jp_profiler_inject(how, run->dir, jp_workload_process_clock() + INJECT_NS,
					  err);
	snprintf(input, sizeof(input), "%s/perf.data", run->dir);
	snprintf(output, sizeof(output), "%s/injected.data", run->dir);
	snprintf(folder, sizeof(folder), "%s/jit", run->dir);
	snprintf(text, sizeof(text), "%s/inject.txt", run->dir);
	words = fopen(text, "wxe");
	if (!words)
		return jp_fail(err, errno, "%s: %s", text, strerror(errno));
	ret = jp_inject(&options, &summary, said, words, err);
	fclose(words);
	return ret;
}

/* Whatever else went wrong then did so because of it. */
static bool profiler_crashed(const char *dir)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/crash", dir);
	return access(path, F_OK) == 0;
}

/* True when there is a folder to judge; else the outcome is the run's own. */
static bool run_case(struct running *run)
{
	char missing[1024] = "";
	struct jp_error err = {""};
	int ret;

	if (jp_run_dir_write(run->dir, "case", run->cas->text, &err) ||
	    jp_run_dir_write(run->dir, "env.json", run->runner->environment, &err) ||
	    take_options(run, &err)) {
		end(run, JP_ERROR, err.text);
		return false;
	}
	if (jp_capture_probe(&run->options, run->capture->breakpoints, missing, sizeof(missing))) {
		end(run, JP_SKIP, missing);
		return false;
	}
	if (!profilers_there(run, &err)) {
		end(run, JP_SKIP, err.text);
		return false;
	}
	ret = perform(run, &err);
	if (!ret && run->cas->inject)
		ret = inject(run, &err);
	/* Whether it was to be expected is for whoever judges to say. */
	if (ret && profiler_crashed(run->dir))
		ret = 0;
	if (ret)
		end_with(run, ret, &err);
	jp_workload_process_close(&run->process);
	return !ret;
}

static int run_inside(void *context)
{
	struct running *run = context;

	run->deadline = jp_workload_process_clock() + run->cas->seconds * 1000000000ull;
	return run_case(run) ? 1 : 0;
}

/* The same in namespaces: the result comes out by memory that is shared. */
static bool go_inside(struct running *run)
{
	struct jp_result *result = run->result;
	struct jp_error err = {""};
	int ret;

	run->result = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run->result == MAP_FAILED) {
		run->result = result;
		end(run, JP_ERROR, "no memory for a result");
		return false;
	}
	*run->result = *result;
	ret = jp_inside(run->cas->inside, run_inside, run, &err);
	*result = *run->result;
	munmap(run->result, sizeof(*result));
	run->result = result;
	if (ret < 0)
		end(run, ret == -EOPNOTSUPP ? JP_SKIP : JP_ERROR, err.text);
	return ret > 0;
}

bool jp_runner_run(const struct jp_runner *runner, const struct jp_case *cas, const char *dir,
		   struct jp_result *result)
{
	uint64_t started = jp_workload_process_clock();
	struct running run = {.runner = runner,
			      .cas = cas,
			      .dir = dir,
			      .result = result,
			      .deadline = started + cas->seconds * 1000000000ull};
	char text[2200];
	uint64_t took;
	bool watched;

	memset(result, 0, sizeof(*result));
	result->cas = cas;
	watched = cas->inside ? go_inside(&run) : run_case(&run);
	if (!watched) {
		snprintf(text, sizeof(text), "%s %s", jp_outcome_text(result->outcome),
			 result->why);
		jp_run_dir_write(dir, "outcome", text, NULL);
	}
	free(run.capture_argv);
	took = jp_workload_process_clock() - started;
	result->seconds = (double)took / 1e9;
	snprintf(text, sizeof(text), "%" PRIu64 ".%09" PRIu64 "\n", took / 1000000000,
		 took % 1000000000);
	jp_run_dir_write(dir, "seconds", text, NULL);
	if (watched && !runner->unjudged)
		jp_judge_case(cas, dir, result);
	return !watched || !runner->unjudged;
}
