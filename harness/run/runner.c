// SPDX-License-Identifier: GPL-2.0-only
#include "harness/run/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/interrupt.h"
#include "harness/base/own_program.h"
#include "harness/base/path.h"
#include "harness/base/registry.h"
#include "harness/base/shortage.h"
#include "harness/capture/events.h"
#include "harness/capture/profilers.h"
#include "harness/format/truth/write.h"
#include "harness/run/environment.h"
#include "harness/run/merge.h"
#include "harness/run/readers.h"
#include "harness/run/watch.h"

/* State of a call of run_nested(), in memory shared by the nested processes. */
struct nested_run {
	int (*act)(void *context);
	void *context;
	char missing_feature[256]; /* the feature that is missing here; "": none */
};

enum { NOT_THERE = 127, KILLED = 126 }; /* own exit statuses, which @act must not use */

static bool write_text(const char *path, const char *text)
{
	jp_cleanup_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* Maps the user @uid to root in the new user namespace, where no other user exists. */
static bool map_user(uid_t uid, gid_t gid)
{
	char users[32], groups[32];

	snprintf(users, sizeof(users), "0 %u 1", uid);
	snprintf(groups, sizeof(groups), "0 %u 1", gid);
	return write_text("/proc/self/setgroups", "deny") &&
	       write_text("/proc/self/uid_map", users) && write_text("/proc/self/gid_map", groups);
}

static int enter_namespace(struct nested_run *run, unsigned int depth);

/* Runs as the first process of a new pid namespace: mounts /proc, then calls @act or enters the
 * next namespace. */
static int run_first_process(struct nested_run *run, unsigned int depth, uid_t uid, gid_t gid)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (uid && !map_user(uid, gid)) {
		snprintf(run->missing_feature, sizeof(run->missing_feature),
			 "/proc/self/uid_map: %s", strerror(errno));
		return NOT_THERE;
	}
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL)) {
		snprintf(run->missing_feature, sizeof(run->missing_feature), "mount of /proc: %s",
			 strerror(errno));
		return NOT_THERE;
	}
	return depth > 1 ? enter_namespace(run, depth - 1) : run->act(run->context);
}

/* Waits for the end of @pid, and sends it SIGTERM if a watched signal arrives. Returns its exit
 * status. */
static int wait_for_child(pid_t pid)
{
	jp_cleanup_close int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd fds[2] = {{.fd = fd, .events = POLLIN},
				{.fd = jp_interrupt_fd(), .events = POLLIN}};
	int status;

	while (fd >= 0 && !fds[0].revents) {
		if (poll(fds, 2, -1) > 0 && fds[1].revents) {
			kill(pid, SIGTERM);
			fds[1].fd = -1;
		}
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return KILLED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : KILLED;
}

static int enter_namespace(struct nested_run *run, unsigned int depth)
{
	const uid_t uid = geteuid();
	const gid_t gid = getegid();
	struct clone_args args = {.flags = CLONE_NEWPID | CLONE_NEWNS | (uid ? CLONE_NEWUSER : 0),
				  .exit_signal = SIGCHLD};
	pid_t pid;

	fflush(NULL);
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (!pid)
		_exit(run_first_process(run, depth, uid, gid));
	if (pid > 0)
		return wait_for_child(pid);
	snprintf(run->missing_feature, sizeof(run->missing_feature),
		 "clone3 with CLONE_NEWPID and CLONE_NEWNS%s: %s", uid ? " and CLONE_NEWUSER" : "",
		 strerror(errno));
	return NOT_THERE;
}

/*
 * Runs @act(@context) in a child, like a profiler in a container: as the first process of @depth
 * nested pid and mount namespaces, with its own /proc. A user other than root also gets user
 * namespaces and is root inside. Forwards watched signals (harness/base/interrupt.h) to the child.
 *
 * Returns @act's result, 0 to 99; -EOPNOTSUPP and the missing feature if such namespaces cannot be
 * made; -ECHILD if the child was killed.
 */
static int run_nested(unsigned int depth, int (*act)(void *context), void *context,
		      struct jp_error *err)
{
	struct nested_run *run =
		mmap(NULL, sizeof(*run), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ret;

	if (run == MAP_FAILED)
		return jp_fail(err, ENOMEM, "out of memory");
	run->act = act;
	run->context = context;
	ret = enter_namespace(run, depth);
	if (ret == NOT_THERE && *run->missing_feature)
		ret = jp_fail(err, EOPNOTSUPP, "%s", run->missing_feature);
	else if (ret > 99)
		ret = jp_fail(err, ECHILD, "the runner in the namespace was killed");
	munmap(run, sizeof(*run));
	return ret;
}

/* Seconds that a workload may take to be ready, in addition to the seconds of its case. */
enum { READY_S = 10 };

int jp_runner_open(struct jp_runner *runner, uint64_t seed, const char *const *profilers,
		   struct jp_error *err)
{
	int ret = jp_interrupt_watch();
	ssize_t length;
	size_t size;
	FILE *out;

	if (ret)
		return jp_fail(err, -ret, "cannot watch signals: %s", strerror(-ret));
	length = readlink("/proc/self/exe", runner->self, sizeof(runner->self) - 1);
	if (length < 0)
		return jp_fail(err, errno, "/proc/self/exe: %s", strerror(errno));
	runner->self[length] = '\0';
	runner->seed = seed;
	jp_environment_forget();
	out = open_memstream(&runner->environment, &size);
	if (!out)
		return jp_fail(err, ENOMEM, "out of memory");
	jp_environment_write(out, seed, runner->program, profilers);
	return jp_shortage_close(out, &runner->environment) ? jp_fail(err, ENOMEM, "out of memory")
							    : 0;
}

void jp_runner_close(struct jp_runner *runner)
{
	free(runner->environment);
}

void jp_runner_list_profilers(const struct jp_case *cas, struct jp_arguments *names)
{
	const struct jp_capture *capture = jp_registry_find(JP_CAPTURE, cas->capture_argv[0]);
	const char *merges = jp_merge_profiler(cas);

	if (capture && capture->traits & JP_CAPTURE_EXTERNAL && cas->capture_argc > 1)
		jp_arguments_add(names, "%s", cas->capture_argv[1]);
	if (merges)
		jp_arguments_add(names, "%s", merges);
	for (size_t i = 0; i < cas->nr_expectations; i++)
		if (cas->expectations[i].scope.tool[0])
			jp_arguments_add(names, "%s", cas->expectations[i].scope.tool);
}

struct running {
	const struct jp_runner *runner;
	struct jp_watched watch;
	/* Path of the program that runs the workload, if that is not this binary. */
	char program[PATH_MAX];
	struct jp_result *result;
};

static void end_case(struct running *run, enum jp_outcome outcome, const char *text)
{
	run->result->outcome = outcome;
	snprintf(run->result->reasons, sizeof(run->result->reasons), "%s", text);
}

/* Stores as the case's result the error of the workload or the session, and the workload's last
 * output. */
static void end_with_error(struct running *run, int ret, const struct jp_error *err)
{
	char words[900], reason[2000];

	if (ret == -EOPNOTSUPP) { /* the workload, or its capture, is not supported here */
		end_case(run, JP_SKIP, err->text);
		return;
	}
	jp_workload_process_last_words(&run->watch.process, words, sizeof(words));
	snprintf(reason, sizeof(reason), "%s%s", err->text[0] ? err->text : strerror(-ret), words);
	end_case(run, ret == -ETIMEDOUT ? JP_TIMEOUT : JP_ERROR, reason);
}

/* Returns whether the profiler crashed (@dir/crash exists), which explains other errors. */
static bool has_profiler_crashed(const char *dir)
{
	char path[4096];

	return !jp_path_build(path, sizeof(path), NULL, "%s/crash", dir) && access(path, F_OK) == 0;
}

/* Finds the program that runs the workload. Returns false and stores the case's outcome if it is
 * missing. */
static bool find_program(struct running *run)
{
	const char *name = run->watch.cas->program ?: run->runner->program;
	struct jp_error err = {""};
	char file[128];
	int ret;

	if (!name)
		return true;
	snprintf(file, sizeof(file), "jitproof-%s", name);
	ret = jp_find_program_beside(run->program, file, &err);
	run->watch.program = run->program;
	if (ret == -ENOENT)
		jp_fail(&err, ENOENT,
			"%s is missing: `make workload-programs` builds it if a compiler for %s is "
			"installed",
			run->program, name);
	if (ret)
		end_case(run, ret == -ENOENT ? JP_SKIP : JP_ERROR, err.text);
	return !ret;
}

/* Returns whether callchains can have as many addresses as the cases expect. */
static bool has_deep_chains(const struct jp_watched *watch, char *missing, size_t size)
{
	const long max = jp_sysctl_read("perf_event_max_stack", JP_USUAL_MAX_STACK);

	snprintf(missing, size,
		 "kernel.perf_event_max_stack is %ld, and cases expect callchains of up to %d "
		 "addresses (sysctl kernel.perf_event_max_stack=%d)",
		 max, JP_USUAL_MAX_STACK, JP_USUAL_MAX_STACK);
	return !watch->options.chain || max >= JP_USUAL_MAX_STACK;
}

/* Returns whether everything that the case needs is available. If not, stores the case's
 * outcome. */
static bool probe_requirements(struct running *run)
{
	const struct jp_watched *watch = &run->watch;
	const char *profiler = jp_merge_profiler(watch->cas);
	struct jp_error err = {""};
	char missing[1024] = "";
	int ret = 0;

	if (watch->capture->probe(&watch->options, watch->capture_argc, watch->capture_argv,
				  missing, sizeof(missing)) ||
	    !has_deep_chains(watch, missing, sizeof(missing))) {
		end_case(run, JP_SKIP, missing);
		return false;
	}
	if (profiler)
		ret = jp_profiler_supports(profiler, "inject", watch->cas->inject_with, &err);
	if (ret)
		end_case(run, ret == -ENOENT ? JP_SKIP : JP_ERROR, err.text);
	return !ret;
}

static bool try_case(struct running *run)
{
	struct jp_watched *watch = &run->watch;
	const struct jp_case *cas = watch->cas;
	struct jp_error err = {""};
	char truth[4096];
	int ret;

	watch->deadline = jp_clock_now() + (READY_S + cas->seconds) * JP_NS_PER_S;
	if (jp_run_dir_write(watch->dir, "case", cas->text, &err) ||
	    jp_run_dir_write(watch->dir, "env.json", run->runner->environment, &err) ||
	    jp_watch_options(watch, &err)) {
		end_case(run, JP_ERROR, err.text);
		return false;
	}
	if (!find_program(run) || !probe_requirements(run))
		return false;
	ret = jp_watch(watch, &err);
	if (!ret && cas->inject)
		ret = jp_merge(cas, watch->dir, &err);
	if (!ret)
		ret = jp_readers_ask(run->runner->readers ?: "none", cas, watch->dir, &err);
	/* If the profiler crashed, let the judge decide whether the case expects that. */
	if (ret && has_profiler_crashed(watch->dir))
		ret = 0;
	if (ret)
		end_with_error(run, ret, &err);
	jp_workload_process_close(&watch->process);
	if (!jp_path_build(truth, sizeof(truth), NULL, "%s/truth", watch->dir))
		jp_truth_trim(truth);
	return !ret;
}

/* Runs the case. Returns true if its folder can be judged; otherwise stores the outcome. After a
 * shortage of memory or descriptors the outcome is ERROR, because files may be missing that the
 * capture is not to blame for. */
static bool run_case(struct running *run)
{
	bool is_watched;
	char reason[256];

	jp_shortage_begin();
	is_watched = try_case(run);
	if (!jp_shortage_describe(reason, sizeof(reason)))
		return is_watched;
	if (is_watched || run->result->outcome != JP_ERROR)
		end_case(run, JP_ERROR, reason);
	return false;
}

static int run_inside(void *context)
{
	return run_case(context) ? 1 : 0;
}

/* Runs the case in nested namespaces (inside=N), and returns its result through shared memory. */
static bool run_in_namespaces(struct running *run)
{
	struct jp_result *result = run->result;
	struct jp_error err = {""};
	int ret;

	run->result = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run->result == MAP_FAILED) {
		run->result = result;
		end_case(run, JP_ERROR, "out of memory for a result");
		return false;
	}
	*run->result = *result;
	ret = run_nested(run->watch.cas->nr_namespaces, run_inside, run, &err);
	*result = *run->result;
	munmap(run->result, sizeof(*result));
	run->result = result;
	if (ret < 0)
		end_case(run, ret == -EOPNOTSUPP ? JP_SKIP : JP_ERROR, err.text);
	return ret > 0;
}

bool jp_runner_run(const struct jp_runner *runner, const struct jp_case *cas, const char *dir,
		   struct jp_result *result)
{
	uint64_t started = jp_clock_now();
	struct running run = {
		.runner = runner,
		.watch = {.program = runner->self, .seed = runner->seed, .cas = cas, .dir = dir},
		.result = result};
	char text[2200];
	uint64_t duration;
	bool is_watched;

	memset(result, 0, sizeof(*result));
	result->cas = cas;
	is_watched = cas->nr_namespaces ? run_in_namespaces(&run) : run_case(&run);
	if (!is_watched) {
		snprintf(text, sizeof(text), "%s %s", jp_outcome_text(result->outcome),
			 result->reasons);
		jp_run_dir_write(dir, "outcome", text, NULL);
	}
	jp_watch_free(&run.watch);
	duration = jp_clock_now() - started;
	result->seconds = (double)duration / 1e9;
	snprintf(text, sizeof(text), "%" PRIu64 ".%09" PRIu64 "\n", duration / JP_NS_PER_S,
		 duration % JP_NS_PER_S);
	jp_run_dir_write(dir, "seconds", text, NULL);
	return is_watched;
}
