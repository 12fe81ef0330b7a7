// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/adapter.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/interrupt.h"
#include "harness/format/rundir/run_dir.h"

/* Long for a program that only says its version; short for a run that waits for it. */
#define VERSION_NS 20000000000ull

static uint64_t now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * 1000000000 + (uint64_t)at.tv_nsec;
}

void jp_profilers_folder(char *path, size_t size)
{
	const char *named = getenv("JITPROOF_PROFILERS");
	ssize_t length;
	char *slash;

	if (named && *named) {
		snprintf(path, size, "%s", named);
		return;
	}
	length = readlink("/proc/self/exe", path, size - 64);
	path[length > 0 ? length : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash) {
		strcpy(slash, "/../share/jitproof/profiler");
		if (access(path, X_OK))
			strcpy(slash, "/profiler");
	}
}

static bool path_of(const char *name, char *path, size_t size)
{
	char dir[4096];

	jp_profilers_folder(dir, sizeof(dir));
	return !strchr(name, '/') && name[0] != '.' &&
	       (size_t)snprintf(path, size, "%s/%s.py", dir, name) < size &&
	       access(path, R_OK) == 0;
}

/* Between fork and exec: only what may be called there. */
static _Noreturn void child(char *const *argv, int in, int out, int words, const int *keep_fds)
{
	setpgid(0, 0);
	signal(SIGPIPE, SIG_DFL);
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(words, 2) < 0)
		_exit(126);
	for (; keep_fds && *keep_fds >= 0; keep_fds++)
		fcntl(*keep_fds, F_SETFD, 0);
	execvp(argv[0], argv);
	_exit(127);
}

/* "python3 -B -I -S PATH ARGS": writes nothing into the folder of the adapters, and needs nothing
 * but the standard library. */
static char **command_of(char *path, char *const *args)
{
	size_t count = 0;
	char **argv;

	while (args[count])
		count++;
	argv = calloc(count + 6, sizeof(*argv));
	if (!argv)
		return NULL;
	argv[0] = "python3";
	argv[1] = "-B";
	argv[2] = "-I";
	argv[3] = "-S";
	argv[4] = path;
	memcpy(argv + 5, args, count * sizeof(*argv));
	return argv;
}

int jp_profiler_start(struct jp_profiler *profiler, const char *name, char *const *args,
		      const char *words, const int *keep_fds, struct jp_error *err)
{
	int in[2] = {-1, -1}, out[2] = {-1, -1}, ret = 0;
	char path[4096 + 128], **argv;

	*profiler = (struct jp_profiler){.in = -1, .out = -1, .words_fd = -1};
	if (!path_of(name, path, sizeof(path)))
		return jp_fail(err, ENOENT, "no profiler '%s': there is no %s.py", name, name);
	argv = command_of(path, args);
	profiler->words_fd = open(words ? words : "/dev/null",
				  O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (!argv || profiler->words_fd < 0 || pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) {
		ret = jp_fail(err, errno, "%s: cannot be started: %s", path, strerror(errno));
	} else {
		profiler->pid = fork();
		if (profiler->pid == 0)
			child(argv, in[0], out[1], profiler->words_fd, keep_fds);
		if (profiler->pid < 0) {
			profiler->pid = 0;
			ret = jp_fail(err, errno, "fork: %s", strerror(errno));
		} else {
			setpgid(profiler->pid, profiler->pid); /* both do: whoever is first */
		}
	}
	free(argv);
	if (in[0] >= 0)
		close(in[0]);
	if (out[1] >= 0)
		close(out[1]);
	profiler->in = in[1];
	profiler->out = out[0];
	if (ret)
		jp_profiler_end(profiler, true);
	return ret;
}

static int wait_line(const struct jp_profiler *profiler, uint64_t deadline)
{
	struct pollfd fds[2] = {{.fd = profiler->out, .events = POLLIN},
				{.fd = jp_interrupt_fd(), .events = POLLIN}};

	for (;;) {
		uint64_t at = now(), left = at < deadline ? (deadline - at + 999999) / 1000000 : 0;
		int ret = poll(fds, 2, left > 3600000 ? 3600000 : (int)left);

		/* What it said already counts, interrupted or not. */
		if (ret > 0 && fds[0].revents)
			return 0;
		if (jp_interrupt_signal())
			return -EINTR;
		if (ret < 0 && errno != EINTR)
			return -errno;
		if (now() >= deadline)
			return -ETIMEDOUT;
	}
}

int jp_profiler_line(struct jp_profiler *profiler, char *text, size_t size, uint64_t deadline,
		     struct jp_error *err)
{
	for (;;) {
		char *end = memchr(profiler->line, '\n', profiler->filled);
		ssize_t got;
		int ret;

		if (end) {
			size_t length = (size_t)(end - profiler->line);

			snprintf(text, size, "%.*s", (int)length, profiler->line);
			profiler->filled -= length + 1;
			memmove(profiler->line, end + 1, profiler->filled);
			return 0;
		}
		if (profiler->filled == sizeof(profiler->line))
			return jp_fail(err, EPROTO,
				       "the profiler's adapter said %zu bytes without "
				       "a newline",
				       profiler->filled);
		ret = wait_line(profiler, deadline);
		if (ret == -ETIMEDOUT)
			return jp_fail(err, ETIMEDOUT, "the profiler did not answer in time");
		if (ret)
			return jp_fail(err, -ret, "waiting for the profiler: %s", strerror(-ret));
		got = read(profiler->out, profiler->line + profiler->filled,
			   sizeof(profiler->line) - profiler->filled);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return jp_fail(err, EPIPE, "the profiler's adapter ended");
		profiler->filled += (size_t)got;
	}
}

int jp_profiler_say(struct jp_profiler *profiler, const char *word, struct jp_error *err)
{
	if (dprintf(profiler->in, "%s\n", word) < 0)
		return jp_fail(err, errno, "the profiler's adapter does not listen: %s",
			       strerror(errno));
	return 0;
}

void jp_profiler_end(struct jp_profiler *profiler, bool kill_it)
{
	int *const fds[] = {&profiler->in, &profiler->out, &profiler->words_fd};

	if (profiler->pid && kill_it)
		kill(-profiler->pid, SIGKILL);
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
	while (profiler->pid && waitpid(profiler->pid, NULL, 0) < 0 && errno == EINTR)
		;
	profiler->pid = 0;
}

int jp_profiler_version(const char *name, char *text, size_t size, struct jp_error *err)
{
	char *const args[] = {"version", NULL};
	struct jp_profiler profiler;
	char line[512];
	int ret = jp_profiler_start(&profiler, name, args, NULL, NULL, err);

	if (ret)
		return ret;
	ret = jp_profiler_line(&profiler, line, sizeof(line), now() + VERSION_NS, err);
	if (ret == -EPIPE) /* the one program that it needs itself */
		ret = jp_fail(err, ENOENT, "profiler %s: python3 is missing, or too old", name);
	else if (!ret && strncmp(line, "skip ", 5) == 0)
		ret = jp_fail(err, ENOENT, "profiler %s: %s", name, line + 5);
	else if (!ret && strncmp(line, "version ", 8) != 0)
		ret = jp_fail(err, EPROTO, "profiler %s: said '%.200s'; expected 'version ...'",
			      name, line);
	else if (!ret)
		snprintf(text, size, "%s", line + 8);
	jp_profiler_end(&profiler, ret != 0);
	return ret;
}

void jp_profilers_describe(struct jp_json *json)
{
	struct dirent **names = NULL;
	char dir[4096], text[256];
	int count;

	jp_profilers_folder(dir, sizeof(dir));
	count = scandir(dir, &names, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		char *name = names[i]->d_name, *dot = strrchr(name, '.');

		if (dot && strcmp(dot, ".py") == 0 && name[0] != '.') {
			*dot = '\0';
			jp_json_string(json, name,
				       jp_profiler_version(name, text, sizeof(text), NULL) ? NULL
											   : text);
		}
		free(names[i]);
	}
	free(names);
}

bool jp_profiler_crashed(const char *dir, const char *verb, const char *line, struct jp_error *err)
{
	const char *signal = "-", *why = NULL;
	struct jp_error unwritten = {""};
	char text[1200];
	int length = 1;

	if (strncmp(line, "failed ", 7) == 0) {
		why = line + 7;
	} else if (strncmp(line, "crash SIG", 9) == 0) {
		signal = line + 6;
		length = (int)strcspn(signal, " ");
		why = signal + length + (signal[length] == ' ');
	}
	if (!why)
		return false;
	snprintf(text, sizeof(text), "%s %.*s %s", verb, length, signal, why);
	if (jp_run_dir_write(dir, "crash", text, &unwritten))
		why = unwritten.text;
	jp_fail(err, ECHILD, "%s", why);
	return true;
}

int jp_profiler_inject(const char *name, const char *dir, uint64_t deadline, struct jp_error *err)
{
	char *const args[] = {"inject", "--dir", (char *)dir, NULL};
	struct jp_profiler profiler;
	char line[1000], words[4096];
	int ret;

	snprintf(words, sizeof(words), "%s/inject.txt", dir);
	ret = jp_profiler_start(&profiler, name, args, words, NULL, err);
	if (ret)
		return ret;
	ret = jp_profiler_line(&profiler, line, sizeof(line), deadline, err);
	if (!ret && jp_profiler_crashed(dir, "inject", line, err))
		ret = -ECHILD;
	else if (!ret && strcmp(line, "done") != 0)
		ret = jp_fail(err, EPROTO, "profiler %s: %.900s", name, line);
	jp_profiler_end(&profiler, ret != 0);
	return ret;
}
