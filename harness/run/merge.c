// SPDX-License-Identifier: GPL-2.0-only
#include "harness/run/merge.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/base/confine.h"
#include "harness/base/exits.h"
#include "harness/base/file.h"
#include "harness/base/path.h"
#include "harness/base/shortage.h"
#include "harness/capture/profilers.h"
#include "harness/format/capture/capture_read.h"
#include "harness/inject/inject.h"
#include "harness/model/files/harmless.h"

/* Time limit of an external injector. perf needs 12 s for 100,000 functions. */
#define INJECT_NS (120 * JP_NS_PER_S)

const char *jp_merge_profiler(const struct jp_case *cas)
{
	enum jp_anon ours;

	return cas->inject && !jp_anon_parse(cas->inject, &ours) ? cas->inject : NULL;
}

static void write_message(void *context, const char *text)
{
	fprintf(context, "%s\n", text);
}

/* Runs the built-in injector in the confined process, and exits. */
static void inject_and_exit(struct jp_injection *injection, FILE *words, struct jp_error *err)
{
	struct jp_inject_summary summary;
	int ret = jp_injection_run(injection, &summary, write_message, words, err);

	jp_injection_close(injection);
	fflush(words);
	_exit(ret || jp_shortage_describe(err->text, sizeof(err->text)) ? JP_EXIT_BROKEN
									: JP_EXIT_OK);
}

/* Injects without privileges, as the workload's published files are untrusted
 * (docs/threat-model.md). */
static int inject_confined(const struct jp_inject_options *options, FILE *words,
			   struct jp_error *err)
{
	const struct jp_confine confine = {
		.readable = {.input = options->input, .harmless = jp_file_may_be_shown}};
	struct jp_error *child_error = mmap(NULL, sizeof(*child_error), PROT_READ | PROT_WRITE,
					    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct jp_injection *injection;
	int ret = -EIO, status;

	if (child_error == MAP_FAILED)
		return jp_fail(err, ENOMEM, "out of memory");
	injection = jp_injection_open(options, err);
	if (injection)
		ret = jp_confine_enter(&confine, &status, err);
	if (!ret)
		inject_and_exit(injection, words, child_error);
	jp_injection_close(injection);
	child_error->text[sizeof(child_error->text) - 1] = '\0';
	if (ret > 0)
		ret = !status ? 0
			      : jp_fail(err, EIO, "%s",
					*child_error->text ? child_error->text
							   : "the process that injects has died");
	munmap(child_error, sizeof(*child_error));
	return ret;
}

int jp_merge(const struct jp_case *cas, const char *dir, struct jp_error *err)
{
	char input[4096], output[4096], folder[4096], text[4096];
	struct jp_inject_options options = {.input = input, .output = output, .folder = folder};
	struct stat status;
	FILE *words;
	int ret;

	/* Skip a capture that is a stream of observations (docs/observations.md): an injector
	 * merges perf.data records, which it does not have. */
	if (jp_capture_path(dir, input, sizeof(input), err))
		return -ENAMETOOLONG;
	if (strcmp(strrchr(input, '/'), "/perf.data") != 0)
		return jp_fail(err, EINVAL, "%s: expected a perf.data to inject into", input);
	if (!jp_anon_parse(cas->inject, &options.anon)) {
		ret = jp_profiler_inject(cas->inject, cas->inject_with, dir,
					 jp_clock_now() + INJECT_NS, err);
		return ret == -ENOENT ? -EOPNOTSUPP : ret;
	}
	ret = jp_path_build(input, sizeof(input), err, "%s/perf.data", dir)
		      ?: jp_path_build(output, sizeof(output), err, "%s/injected.data", dir)
		      ?: jp_path_build(folder, sizeof(folder), err, "%s/jit", dir)
		      ?: jp_path_build(text, sizeof(text), err, "%s/inject.txt", dir);
	if (ret)
		return ret;
	if (!lstat(input, &status) && S_ISDIR(status.st_mode))
		return jp_fail(err, EOPNOTSUPP,
			       "inject=%s merges one file, and the profiler wrote a folder "
			       "(perf record --threads or --switch-output)",
			       cas->inject);
	words = jp_file_create(text, false, err);
	if (!words)
		return -EIO;
	ret = inject_confined(&options, words, err);
	fclose(words);
	return ret;
}
