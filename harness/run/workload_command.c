// SPDX-License-Identifier: GPL-2.0-only
#include "harness/run/workload_command.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/base/array.h"

struct words {
	char **list; /* NULL-terminated */
	size_t count, capacity;
	bool failed;
};

__attribute__((format(printf, 2, 3))) static void add(struct words *words, const char *fmt, ...)
{
	va_list ap;
	char *word;

	va_start(ap, fmt);
	if (vasprintf(&word, fmt, ap) < 0)
		word = NULL;
	va_end(ap);
	if (!word || !jp_array_reserve(&words->list, &words->capacity, words->count + 2)) {
		words->failed = true;
		free(word);
		return;
	}
	words->list[words->count++] = word;
	words->list[words->count] = NULL;
}

void jp_workload_command_free(char **command)
{
	for (char **word = command; word && *word; word++)
		free(*word);
	free(command);
}

char **jp_workload_command(const struct jp_runner *runner, const struct jp_case *cas,
			   const char *dir, const struct jp_workload_process *process)
{
	struct words words = {NULL, 0, 0, false};

	add(&words, "%s", runner->self);
	add(&words, "workload");
	add(&words, "%s", cas->workload_argv[0]);
	add(&words, "--truth");
	add(&words, "%s/truth", dir);
	add(&words, "--seed");
	add(&words, "%" PRIu64, runner->seed);
	add(&words, "--ready-fd");
	add(&words, "%d", process->child_fd[0]);
	add(&words, "--control-fd");
	add(&words, "%d", process->child_fd[1]);
	if (cas->publish) {
		add(&words, "--publish=%s", cas->publish);
		add(&words, "--publish-dir=%s", dir);
	}
	for (int i = 1; i < cas->workload_argc; i++)
		add(&words, "%s", cas->workload_argv[i]);
	if (!words.failed)
		return words.list;
	jp_workload_command_free(words.list);
	return NULL;
}
