// SPDX-License-Identifier: GPL-2.0-only
/* Requests to an adapter other than recording: the profiler's version, injecting, and reading. */
#include "harness/capture/profilers.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/clock.h"
#include "harness/base/path.h"
#include "harness/capture/adapter.h"
#include "harness/format/rundir/run_dir.h"

/* Time limit of a program that prints its version. */
#define VERSION_NS (20 * JP_NS_PER_S)

static int ask_version(const char *name, char **args, char *text, size_t size, struct jp_error *err)
{
	const uint64_t deadline = jp_clock_now() + VERSION_NS;
	struct jp_adapter adapter;
	struct jp_error answer;
	char line[1024];
	int ret = jp_adapter_start(&adapter, name, args, NULL, NULL, err);

	if (ret)
		return ret;
	ret = jp_adapter_read_line(&adapter, line, sizeof(line), deadline, &answer);
	if (!ret && strncmp(line, "skip ", 5) == 0) {
		ret = jp_fail(err, ENOENT, "profiler %s: %s", name, line + 5);
	} else if (!ret && strncmp(line, "version ", 8) == 0 && line[8]) {
		snprintf(text, size, "%.*s", (int)size - 1, line + 8);
		if (jp_adapter_await_exit(&adapter, deadline, &answer))
			ret = jp_adapter_fail_broken(&adapter, answer.text, "after its version",
						     "its end", err);
	} else {
		if (!ret)
			jp_fail(&answer, EPROTO, "wrote '%.300s'", line);
		ret = jp_adapter_fail_broken(&adapter, answer.text, "when asked for its version",
					     "'version ...' or 'skip WHY'", err);
	}
	jp_adapter_end(&adapter, ret != 0);
	/* Status 127 means, as in a shell, that the adapter's interpreter was not found. */
	if (ret && WIFEXITED(adapter.status) && WEXITSTATUS(adapter.status) == 127)
		ret = jp_fail(err, ENOENT, "profiler %s: python3 is missing", name);
	return ret;
}

int jp_profiler_version(const char *name, char *text, size_t size, struct jp_error *err)
{
	static struct {
		char name[32], version[256];
	} versions[16];
	static size_t nr_known;
	char *args[] = {"version", NULL}, version[256];
	int ret;

	for (size_t i = 0; i < nr_known; i++)
		if (strcmp(versions[i].name, name) == 0) {
			snprintf(text, size, "%s", versions[i].version);
			return 0;
		}
	ret = ask_version(name, args, version, sizeof(version), err);
	if (ret)
		return ret;
	snprintf(text, size, "%s", version);
	if (nr_known < sizeof(versions) / sizeof(versions[0]) &&
	    strlen(name) < sizeof(versions[0].name)) {
		strcpy(versions[nr_known].name, name);
		strcpy(versions[nr_known++].version, version);
	}
	return 0;
}

int jp_profiler_supports(const char *name, const char *verb, char **words, struct jp_error *err)
{
	jp_cleanup_arguments struct jp_arguments arguments = {0};
	char version[256];

	if (!words || !*words)
		return jp_profiler_version(name, version, sizeof(version), err);
	jp_arguments_add(&arguments, "version");
	jp_arguments_add(&arguments, "--for=%s", verb);
	jp_profiler_add_words(&arguments, words);
	if (arguments.failed)
		return jp_fail(err, ENOMEM, "out of memory for arguments");
	return ask_version(name, arguments.list, version, sizeof(version), err);
}

void jp_profiler_add_words(struct jp_arguments *arguments, char **words)
{
	for (int i = 0; words && words[i]; i++)
		jp_arguments_add(arguments, "--with=%s", words[i]);
}

void jp_profilers_visit(void (*visit)(const char *name, void *context), void *context)
{
	struct dirent **names = NULL;
	char dir[4096];
	int count;

	jp_profilers_folder(dir, sizeof(dir));
	count = scandir(dir, &names, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		char *name = names[i]->d_name, *dot = strrchr(name, '.');

		if (dot && strcmp(dot, ".py") == 0 && name[0] != '.') {
			*dot = '\0';
			visit(name, context);
		}
		free(names[i]);
	}
	free(names);
}

struct description {
	struct jp_json *json;
	const char *const *only;
};

static bool is_wanted(const char *name, const char *const *only_file)
{
	for (size_t i = 0; only_file && only_file[i]; i++)
		if (strcmp(only_file[i], name) == 0)
			return true;
	return !only_file;
}

static void describe_profiler(const char *name, void *context)
{
	const struct description *description = context;
	char text[256];

	if (is_wanted(name, description->only))
		jp_json_string(description->json, name,
			       jp_profiler_version(name, text, sizeof(text), NULL) ? NULL : text);
}

void jp_profilers_describe(struct jp_json *json, const char *const *only_file)
{
	jp_profilers_visit(describe_profiler, &(struct description){json, only_file});
}

bool jp_profiler_has_crashed(const char *dir, const char *verb, const char *line,
			     struct jp_error *err)
{
	const char *signal = "-", *reason = NULL;
	struct jp_error unwritten = {""};
	char text[1200];
	int length = 1;

	if (strncmp(line, "failed ", 7) == 0) {
		reason = line + 7;
	} else if (strncmp(line, "refused ", 8) == 0) {
		signal = line;
		length = 7;
		reason = line + 8;
	} else if (strncmp(line, "crash SIG", 9) == 0) {
		signal = line + 6;
		length = (int)strcspn(signal, " ");
		reason = signal + length + (signal[length] == ' ');
	}
	if (!reason)
		return false;
	snprintf(text, sizeof(text), "%s %.*s %s", verb, length, signal, reason);
	if (jp_run_dir_write(dir, "crash", text, &unwritten))
		reason = unwritten.text;
	jp_fail(err, ECHILD, "%s", reason);
	return true;
}

/* Reads the adapter's only answer to @verb, and waits for its exit. Returns 0; -ENOENT if the
 * profiler cannot do @verb here; -ECHILD as jp_profiler_inject() does; or -errno. */
static int await_done(struct jp_adapter *adapter, const char *verb, const char *dir,
		      uint64_t deadline, struct jp_error *err)
{
	struct jp_error answer;
	char line[1024], protocol_state[64];
	int ret = jp_adapter_read_line(adapter, line, sizeof(line), deadline, &answer);

	if (!ret && jp_profiler_has_crashed(dir, verb, line, err))
		return -ECHILD;
	if (!ret && strncmp(line, "error ", 6) == 0 && line[6])
		return jp_fail(err, EIO, "%s", line + 6);
	if (!ret && strncmp(line, "skip ", 5) == 0 && line[5])
		return jp_fail(err, ENOENT, "profiler %s: %s", adapter->name, line + 5);
	if (!ret && strcmp(line, "done") == 0) {
		ret = jp_adapter_await_exit(adapter, deadline, &answer);
		if (ret)
			jp_adapter_fail_broken(adapter, answer.text, "after it was done", "its end",
					       err);
		return ret;
	}
	if (!ret)
		ret = jp_fail(&answer, EPROTO, "wrote '%.300s'", line);
	snprintf(protocol_state, sizeof(protocol_state), "when asked to %s", verb);
	jp_adapter_fail_broken(adapter, answer.text, protocol_state, "'done'", err);
	return ret;
}

/* Starts the adapter @name with @arguments, which begin with @verb, to work on @dir. Its messages
 * go to @dir/@words. Returns as await_done(). */
static int run_verb(const char *name, const char *verb, struct jp_arguments *arguments,
		    const char *dir, const char *words, uint64_t deadline, struct jp_error *err)
{
	struct jp_adapter adapter;
	char path[4096];
	int ret = jp_path_build(path, sizeof(path), err, "%s/%s", dir, words);

	if (ret)
		return ret;
	if (arguments->failed)
		return jp_fail(err, ENOMEM, "out of memory for arguments");
	ret = jp_adapter_start(&adapter, name, arguments->list, path, NULL, err);
	if (ret)
		return ret;
	ret = await_done(&adapter, verb, dir, deadline, err);
	jp_adapter_end(&adapter, ret != 0);
	return ret;
}

int jp_profiler_inject(const char *name, char **extra_args, const char *dir, uint64_t deadline,
		       struct jp_error *err)
{
	jp_cleanup_arguments struct jp_arguments arguments = {0};

	jp_arguments_add(&arguments, "inject");
	jp_arguments_add(&arguments, "--dir");
	jp_arguments_add(&arguments, "%s", dir);
	jp_profiler_add_words(&arguments, extra_args);
	return run_verb(name, "inject", &arguments, dir, "inject.txt", deadline, err);
}

int jp_profiler_read(const char *name, const char *only_file, const char *const *files,
		     const char *dir, uint64_t deadline, struct jp_error *err)
{
	jp_cleanup_arguments struct jp_arguments arguments = {0};

	jp_arguments_add(&arguments, "read");
	jp_arguments_add(&arguments, "--dir");
	jp_arguments_add(&arguments, "%s", dir);
	for (; *files; files++)
		jp_arguments_add(&arguments, "--file=%s", *files);
	jp_arguments_add(&arguments, only_file ? "--only=%s" : "--own", only_file);
	return run_verb(name, "read", &arguments, dir, "shown/messages", deadline, err);
}
