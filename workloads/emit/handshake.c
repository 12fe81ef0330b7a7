// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/publish.h"
#include "workloads/emit/workload.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "harness/format/truth/write.h"
#include "workloads/emit/image.h"
#include "workloads/emit/maps.h"
#include "workloads/emit/thread.h"

/* Since Linux 6.3 (b507808ebce2 "mm: implement memory-deny-write-execute as a prctl"). */
#ifndef PR_GET_MDWE
#define PR_GET_MDWE              66
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

static struct jp_handshake_setup current = {
	.seed = 1, .shorter = 1, .ready_fd = STDOUT_FILENO, .hold_fd = -1};
static atomic_int stopping;

static void request_stop(int signal)
{
	atomic_store(&stopping, 1);
}

void jp_handshake_begin(const struct jp_handshake_setup *setup)
{
	struct sigaction stop = {.sa_handler = request_stop};
	sigset_t set;

	current = *setup;
	/* If the watcher exits, the end of the control stream reports that; a write must not kill
	 * us. */
	signal(SIGPIPE, SIG_IGN);
	/* Receive SIGTERM and SIGINT only while we wait for a command, so that they interrupt no
	 * step. Threads inherit the mask. */
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGINT, &stop, NULL);
}

const struct jp_handshake_setup *jp_handshake_setup(void)
{
	return &current;
}

int jp_handshake_begin_child(int ready_fd, int control_fd)
{
	size_t count = 0;
	char **argv;

	while (current.argv[count])
		count++;
	argv = calloc(count + 3, sizeof(*argv));
	if (!argv)
		return -ENOMEM;
	memcpy(argv, current.argv, count * sizeof(*argv));
	/* Appended options override the earlier ones. */
	if (asprintf(&argv[count], "--ready-fd=%d", ready_fd) < 0 ||
	    asprintf(&argv[count + 1], "--control-fd=%d", control_fd) < 0)
		return -ENOMEM;
	current.argv = argv;
	current.ready_fd = ready_fd;
	current.control_fd = control_fd;
	current.resumed = 0;
	atomic_store(&stopping, 0);
	return 0;
}

void jp_handshake_wait_for_watcher(void)
{
	const pid_t pid = getpid();
	char byte;

	if (current.hold_fd < 0)
		return;
	if (write(current.hold_fd, &pid, sizeof(pid)) == sizeof(pid))
		while (read(current.hold_fd, &byte, 1) < 0 && errno == EINTR)
			;
	close(current.hold_fd);
	current.hold_fd = -1;
}

int jp_handshake_is_stopping(void)
{
	return atomic_load_explicit(&stopping, memory_order_relaxed);
}

static void __attribute__((format(printf, 1, 2))) send_line(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vdprintf(current.ready_fd, fmt, ap);
	va_end(ap);
}

/* Returns whether @time (ns) has passed; else stores the remaining time in *@remaining. */
static bool has_passed(uint64_t time, struct timespec *remaining)
{
	uint64_t now = jp_clock_now();

	*remaining = jp_clock_timespec(now < time ? time - now : 0);
	return now >= time;
}

/* Waits for one line of the control stream and stores it in @line. Returns false when the workload
 * must end. Stores an empty line once the time @due (ns; 0: never) has passed. Reads single bytes,
 * because the bytes after a line "step exec" belong to the next image. */
static bool read_command(char *line, size_t size, uint64_t due)
{
	struct pollfd control = {.fd = current.control_fd, .events = POLLIN};
	struct timespec remaining;
	size_t length = 0;
	sigset_t open_signals;

	pthread_sigmask(SIG_SETMASK, NULL, &open_signals);
	sigdelset(&open_signals, SIGTERM);
	sigdelset(&open_signals, SIGINT);
	while (!jp_handshake_is_stopping()) {
		char byte;
		ssize_t nr_read;

		if (due && !length && has_passed(due, &remaining)) {
			*line = '\0';
			return true;
		}
		if (ppoll(&control, 1, due && !length ? &remaining : NULL, &open_signals) <= 0)
			continue;
		nr_read = read(current.control_fd, &byte, 1);
		if (nr_read < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (nr_read <= 0)
			return false;
		if (byte == '\n') {
			line[length] = '\0';
			return true;
		}
		if (length + 1 < size)
			line[length++] = byte;
	}
	return false;
}

static void run_step(const struct jp_step *steps, void *context, char *line)
{
	char *tail = NULL, *verb = strtok_r(line, " \t\r", &tail);
	char *name = strtok_r(NULL, " \t\r", &tail), *arg = strtok_r(NULL, " \t\r", &tail);
	const struct jp_step *step = steps;
	int ret;

	if (!verb)
		return;
	if (strcmp(verb, "step") || !name) {
		send_line("failed %s: expected \"step NAME [ARG]\" or \"stop\"\n", verb);
		return;
	}
	while (step && step->name && strcmp(step->name, name))
		step++;
	if (!step || !step->name) {
		send_line("failed %s: this workload has no such step\n", name);
		return;
	}
	ret = step->act(context, arg);
	/* Mark the maps before the answer: the watcher may kill us after it. */
	jp_maps_record_all();
	if (ret < 0)
		send_line("failed %s: %s\n", name, jp_maps_describe_error(-ret));
	else
		send_line("done %s\n", name);
}

int jp_handshake(const struct jp_step *steps, void *context)
{
	return jp_handshake_with_period(0, steps, context);
}

int jp_handshake_with_period(uint64_t period, const struct jp_step *steps, void *context)
{
	uint64_t due = period ? jp_clock_now() + period : 0;
	char line[256];
	int ret = 0;

	jp_maps_record_all();
	if (current.resumed)
		send_line("done exec\n");
	else
		send_line("ready %d\n", getpid());
	while (!ret && read_command(line, sizeof(line), due) && strcmp(line, "stop")) {
		if (*line) {
			run_step(steps, context, line);
			continue;
		}
		if (!due)
			continue;
		ret = steps[0].act(context, NULL);
		(ret ? jp_maps_record_all : jp_maps_record_seldom)();
		due = ret ? 0 : jp_clock_now() + period;
		ret = ret == -ENOSPC ? 0 : ret;
	}
	atomic_store(&stopping, 1);
	return ret;
}

struct rounds {
	int (*round)(void *context);
	void *context;
};

static void *run_rounds(void *context)
{
	const struct rounds *rounds = context;
	int ret = 0;

	while (!ret && !jp_handshake_is_stopping()) {
		ret = rounds->round(rounds->context);
		jp_maps_record_seldom();
	}
	if (ret)
		exit(jp_handshake_status("round", ret));
	return NULL;
}

int jp_handshake_rounds(int (*round)(void *context), void *context)
{
	struct rounds rounds = {.round = round, .context = context};
	pthread_t thread;
	int ret = jp_thread_make(&thread, run_rounds, &rounds);

	if (ret)
		return ret;
	jp_handshake(NULL, NULL);
	jp_thread_join(thread, NULL);
	return 0;
}

int jp_handshake_skip(const char *reason)
{
	send_line("skip %s\n", reason);
	atomic_store(&stopping, 1);
	return EXIT_SUCCESS;
}

bool jp_handshake_skip_denied(void)
{
	const int denied = prctl(PR_GET_MDWE, 0, 0, 0, 0);

	if (denied <= 0 || !(denied & PR_MDWE_REFUSE_EXEC_GAIN))
		return false;
	jp_handshake_skip("memory that becomes executable: PR_SET_MDWE denies it to this process "
			  "and its children");
	return true;
}

int jp_handshake_status(const char *workload, int failed)
{
	if (failed == -EACCES && jp_handshake_skip_denied())
		return EXIT_SUCCESS;
	if (failed)
		fprintf(stderr, "jitproof workload %s: %s\n", workload,
			jp_maps_describe_error(-failed));
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int jp_handshake_exec(const char *extra_argument)
{
	/* A later image publishes as --publish-children states. */
	const char *choice = jp_publish_get_choice();
	char self[PATH_MAX], resumed[48], publish[64];
	size_t count = 0, nr_kept = 0;
	char **argv;
	int ret = jp_image_program(self);

	if (ret)
		return ret;
	while (current.argv[count])
		count++;
	argv = calloc(count + 4, sizeof(*argv));
	if (!argv)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (strncmp(current.argv[i], "--resumed=", strlen("--resumed=")) &&
		    strncmp(current.argv[i], "--publish=", strlen("--publish=")) &&
		    strncmp(current.argv[i], "--hold-fd=", strlen("--hold-fd=")))
			argv[nr_kept++] = current.argv[i];
	snprintf(publish, sizeof(publish), "--publish=%s", choice ?: "none");
	argv[nr_kept++] = publish;
	if (extra_argument)
		argv[nr_kept++] = (char *)extra_argument;
	argv[nr_kept] = resumed;
	jp_maps_record_all();
	/* The new image records the exec, because only it knows when the exec was complete. */
	snprintf(resumed, sizeof(resumed), "--resumed=%llu", (unsigned long long)jp_clock_now());
	execv(self, argv);
	/* The file may have been replaced or removed since the start of this process. */
	execv("/proc/self/exe", argv);
	ret = -errno;
	free(argv);
	return ret;
}
