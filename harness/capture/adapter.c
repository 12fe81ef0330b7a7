// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/adapter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/arguments.h"
#include "harness/base/clock.h"
#include "harness/base/interrupt.h"
#include "harness/base/path.h"
#include "harness/base/search_path.h"
#include "harness/base/trusted_path.h"

/* Stores in @path the path of this binary's folder followed by @name, which begins with a slash. */
static void build_path_next_to_binary(const char *name, char *path, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", path, size - 64);
	char *slash;

	path[length > 0 ? length : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		strcpy(slash, name);
}

/* Stores in @path the folder of the adapters that come with this binary. */
static void find_shipped_folder(char *path, size_t size)
{
	build_path_next_to_binary("/profiler", path, size);
	if (access(path, X_OK))
		build_path_next_to_binary("/../share/jitproof/profiler", path, size);
}

void jp_profilers_folder(char *path, size_t size)
{
	const char *configured = getenv("JITPROOF_PROFILERS");

	if (configured && *configured)
		snprintf(path, size, "%s", configured);
	else
		find_shipped_folder(path, size);
}

/* Sets the environment variable that names the folder of the modules that all adapters share. */
static int export_adapter_modules(struct jp_error *err)
{
	char path[4096], real_path[4096];
	int ret;

	find_shipped_folder(path, sizeof(path));
	if (access(path, F_OK))
		return unsetenv("JITPROOF_ADAPTING");
	ret = jp_trusted_find_programs(path, real_path, sizeof(real_path), err);
	if (ret)
		return ret;
	return setenv("JITPROOF_ADAPTING", path, 1) ? jp_fail(err, errno, "%s", strerror(errno))
						    : 0;
}

/* Sets the environment variable @variable, unless it is set already, to @folder in this binary's
 * folder, if that folder contains @needed_file. */
static int export_folder(const char *variable, const char *folder, const char *needed_file,
			 struct jp_error *err)
{
	char path[4096], needed_path[sizeof(path) + 32], real_path[4096];
	int ret;

	build_path_next_to_binary(folder, path, sizeof(path));
	if (getenv(variable) ||
	    jp_path_build(needed_path, sizeof(needed_path), err, "%s%s", path, needed_file) ||
	    access(needed_path, F_OK))
		return 0;
	ret = jp_trusted_find_programs(needed_path, real_path, sizeof(real_path), err);
	if (ret)
		return ret;
	return setenv(variable, path, 1) ? jp_fail(err, errno, "%s", strerror(errno)) : 0;
}

static int find_adapter(const char *name, char *path, size_t size, struct jp_error *err)
{
	char dir[4096], adapter_path[sizeof(dir) + 128];
	int ret;

	jp_profilers_folder(dir, sizeof(dir));
	if (strchr(name, '/') || name[0] == '.' ||
	    jp_path_build(adapter_path, sizeof(adapter_path), NULL, "%s/%s.py", dir, name) ||
	    access(adapter_path, R_OK))
		return jp_fail(err, ENOENT, "no profiler '%s': there is no %s.py in %s", name, name,
			       dir);
	/* Nobody else may add files to the folder: a module there would replace a standard module
	 * of Python. */
	ret = jp_trusted_find_programs(dir, path, size, err);
	return ret ?: jp_trusted_find_file(adapter_path, path, size, err);
}

/* Runs between fork and exec: calls only functions that are allowed there. */
static _Noreturn void exec_adapter(char *const *argv, char **environment, int input, int output,
				   int words, const int *keep_fds)
{
	setpgid(0, 0);
	jp_interrupt_restore_pipe_signals();
	if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(words, 2) < 0)
		_exit(126);
	for (; keep_fds && *keep_fds >= 0; keep_fds++)
		fcntl(*keep_fds, F_SETFD, 0);
	environ = environment; /* search in that environment's PATH */
	execvp(argv[0], argv);
	_exit(127);
}

/* Adds the command line that runs the adapter at @path with @args by Python, without writing .pyc
 * files and with the standard library only. */
static void add_command(struct jp_arguments *command, const char *path, char *const *args)
{
	static char *const python[] = {"python3", "-B", "-I", "-S", NULL};

	jp_arguments_add_all(command, python);
	jp_arguments_add(command, "%s", path);
	jp_arguments_add_all(command, args);
}

int jp_adapter_start(struct jp_adapter *adapter, const char *name, char *const *args,
		     const char *words, const int *keep_fds, struct jp_error *err)
{
	int input_pipe[2] = {-1, -1}, output_pipe[2] = {-1, -1}, ret = 0;
	jp_cleanup_arguments struct jp_arguments command = {0};
	char path[4096 + 128], **environment;

	*adapter = (struct jp_adapter){
		.name = name, .pidfd = -1, .request_fd = -1, .answer_fd = -1, .words_fd = -1};
	ret = find_adapter(name, path, sizeof(path), err)
		      ?: export_adapter_modules(err)
		      ?: export_folder("JITPROOF_PEERS", "/peers", "/bin", err)
		      ?: export_folder("JITPROOF_PERFS", "/perf", "", err);
	if (ret)
		return ret;
	add_command(&command, path, args);
	adapter->words_fd =
		words ? open(words, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644)
		      : memfd_create("words", MFD_CLOEXEC);
	environment = jp_search_path_environment();
	if (command.failed || !environment || adapter->words_fd < 0 ||
	    pipe2(input_pipe, O_CLOEXEC) || pipe2(output_pipe, O_CLOEXEC)) {
		ret = jp_fail(err, errno, "%s: cannot be started: %s", path, strerror(errno));
	} else {
		adapter->pid = fork();
		if (adapter->pid == 0)
			exec_adapter(command.list, environment, input_pipe[0], output_pipe[1],
				     adapter->words_fd, keep_fds);
		if (adapter->pid < 0) {
			adapter->pid = 0;
			ret = jp_fail(err, errno, "fork: %s", strerror(errno));
		} else {
			setpgid(adapter->pid, adapter->pid); /* parent and child both call it:
								either may be first */
			adapter->pidfd = (int)syscall(SYS_pidfd_open, adapter->pid, 0);
			adapter->lines.writer = adapter->pidfd > 0 ? adapter->pidfd : 0;
		}
	}
	if (input_pipe[0] >= 0)
		close(input_pipe[0]);
	if (output_pipe[1] >= 0)
		close(output_pipe[1]);
	adapter->request_fd = input_pipe[1];
	adapter->answer_fd = output_pipe[0];
	if (ret)
		jp_adapter_end(adapter, true);
	return ret;
}

/* Returns how the adapter ended (a CLD_ code) without reaping it, or 0 if it still runs. */
static int read_exit(const struct jp_adapter *adapter, int *status)
{
	siginfo_t info = {0};

	if (waitid(P_PID, (id_t)adapter->pid, &info, WEXITED | WNOWAIT | WNOHANG))
		return 0;
	*status = info.si_status;
	return info.si_pid ? info.si_code : 0;
}

static int fail_ended(const struct jp_adapter *adapter, struct jp_error *line)
{
	int status;

	/* An exiting process closes its files before it is a zombie: wait for that. */
	jp_wait_readable(adapter->pidfd, jp_clock_now() + JP_NS_PER_S);
	switch (read_exit(adapter, &status)) {
	case 0:
		return jp_fail(line, EPIPE, "closed its standard output and did not exit");
	case CLD_EXITED:
		return jp_fail(line, EPIPE, "ended with status %d", status);
	default:
		return jp_fail(line, EPIPE, "was killed by signal %d (%s)", status,
			       strsignal(status));
	}
}

bool jp_adapter_has_exited(const struct jp_adapter *adapter)
{
	int status;

	return read_exit(adapter, &status) == CLD_EXITED && !status;
}

int jp_adapter_read_line(struct jp_adapter *adapter, char *text, size_t size, uint64_t deadline,
			 struct jp_error *line)
{
	int ret = jp_lines_next(&adapter->lines, adapter->answer_fd, deadline, text, size);

	if (ret == -EPROTO)
		return jp_fail(line, EPROTO, "wrote %zu bytes without a newline",
			       adapter->lines.nr_filled);
	if (ret == -EBADMSG)
		return jp_fail(line, EPROTO, "wrote '%.300s' and a NUL byte", text);
	if (ret == -ETIMEDOUT)
		return jp_fail(line, ETIMEDOUT, "did not answer in time");
	if (ret == -EPIPE)
		return fail_ended(adapter, line);
	return ret ? jp_fail(line, -ret, "its standard output cannot be read: %s", strerror(-ret))
		   : 0;
}

int jp_adapter_send(struct jp_adapter *adapter, const char *word)
{
	return dprintf(adapter->request_fd, "%s\n", word) > 0 ? 0 : -errno;
}

int jp_adapter_await_exit(struct jp_adapter *adapter, uint64_t deadline, struct jp_error *answer)
{
	char line[1024];
	int ret;

	close(adapter->request_fd);
	adapter->request_fd = -1;
	ret = jp_adapter_read_line(adapter, line, sizeof(line), deadline, answer);
	if (ret == -EPIPE && jp_adapter_has_exited(adapter))
		return 0;
	if (ret == -ETIMEDOUT)
		return jp_fail(answer, ETIMEDOUT, "did not exit");
	return ret ?: jp_fail(answer, EPROTO, "wrote '%.300s'", line);
}

static void append_log(const struct jp_adapter *adapter, struct jp_error *err)
{
	enum { MOST = 600 };
	size_t length = strlen(err->text);
	char words[MOST + 1];
	struct stat st;
	ssize_t size;

	if (adapter->words_fd < 0 || fstat(adapter->words_fd, &st))
		return;
	size = pread(adapter->words_fd, words, MOST, st.st_size > MOST ? st.st_size - MOST : 0);
	while (size > 0 && words[size - 1] == '\n')
		size--;
	if (size <= 0)
		return;
	words[size] = '\0';
	for (char *c = words; *c; c++)
		if (*c == '\n')
			*c = ' ';
	snprintf(err->text + length, sizeof(err->text) - length, "; its last words: %s", words);
}

int jp_adapter_fail_broken(const struct jp_adapter *adapter, const char *line,
			   const char *protocol_state, const char *expected, struct jp_error *err)
{
	const int ret = jp_fail(err, EPROTO, "profiler %s: %s %s; expected %s", adapter->name, line,
				protocol_state, expected);

	if (err)
		append_log(adapter, err);
	return ret;
}

void jp_adapter_end(struct jp_adapter *adapter, bool kill_it)
{
	int *const fds[] = {&adapter->request_fd, &adapter->answer_fd, &adapter->words_fd,
			    &adapter->pidfd};
	struct rusage usage = {0};

	if (adapter->pid && kill_it)
		kill(-adapter->pid, SIGKILL);
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
	while (adapter->pid && wait4(adapter->pid, &adapter->status, 0, &usage) < 0 &&
	       errno == EINTR)
		;
	adapter->pid = 0;
	adapter->cpu =
		jp_clock_from_timeval(usage.ru_utime) + jp_clock_from_timeval(usage.ru_stime);
}
