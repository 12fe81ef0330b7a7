// SPDX-License-Identifier: GPL-2.0-only
#include "harness/run/readers.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/arguments.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/path.h"
#include "harness/base/registry.h"
#include "harness/capture/capture.h"
#include "harness/capture/profilers.h"
#include "harness/format/perfdata/read.h"
#include "harness/format/truth/format.h"
#include "harness/format/shown/shown_index.h"
#include "harness/run/merge.h"

/* Time limit of an adapter: two files and a handful of versions, which it limits one by one. */
#define READ_NS (1800 * JP_NS_PER_S)

static const char *const files[] = {"perf.data", "injected.data", NULL};

/* The request for one case. */
struct readers_request {
	const char *words, *dir;
	const char *there[3]; /* the files that exist, NULL-terminated */
	bool optional;        /* an adapter that reads nothing is no error */
	bool asked;           /* an adapter was asked, and the folder exists */
	struct jp_error *err;
	int failed;
	struct jp_arguments gone; /* recorded paths of files that are gone */
};

bool jp_readers_are_valid(const char *words)
{
	for (const char *at = words; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr(",-_.", *at))
			return false;
	return *words && *words != ',' && *words != '.';
}

/* Makes the folder of the readings. Returns 0, or -errno and a message. */
static int make_folder(struct readers_request *request)
{
	char folder[4096];
	int ret = jp_path_build(folder, sizeof(folder), request->err, "%s/" JP_SHOWN_FOLDER,
				request->dir);

	request->asked = true;
	if (!ret && mkdir(folder, 0755))
		ret = jp_fail(request->err, errno, "%s: %s", folder, strerror(errno));
	return ret;
}

/* Asks @name for the samples of @asked. @only: as of jp_profiler_read(). */
static void ask_adapter(struct readers_request *request, const char *name, const char *only,
			const char *const *asked)
{
	int ret;

	if (!request->failed && *asked && !request->asked)
		request->failed = make_folder(request);
	if (request->failed || !*asked)
		return;
	ret = jp_profiler_read(name, only, asked, request->dir, jp_clock_now() + READ_NS,
			       request->err);
	if (ret && !(ret == -ENOENT && request->optional))
		request->failed = ret;
}

/* Asks the profilers of @cas for what they wrote. */
static void ask_own(struct readers_request *request, const struct jp_case *cas)
{
	const struct jp_capture *capture = jp_registry_find(JP_CAPTURE, cas->capture_argv[0]);
	const char *merges = jp_merge_profiler(cas);

	for (const char **file = request->there; *file; file++) {
		const char *const asked[] = {*file, NULL};
		const bool recorded = strcmp(*file, files[0]) == 0;

		if (recorded && capture && capture->traits & JP_CAPTURE_EXTERNAL &&
		    cas->capture_argc > 1)
			ask_adapter(request, cas->capture_argv[1], NULL, asked);
		else if (!recorded && merges)
			ask_adapter(request, merges, NULL, asked);
	}
}

static void ask_any(const char *name, void *context)
{
	struct readers_request *request = context;

	ask_adapter(request, name, "", request->there);
}

/* Asks each of the words, an adapter's name and maybe a version behind a hyphen. */
static void ask_named(struct readers_request *request)
{
	jp_cleanup_free char *words = strdup(request->words);
	char *next, name[64];

	if (!words) {
		request->failed = jp_fail(request->err, ENOMEM, "out of memory");
		return;
	}
	for (char *word = strtok_r(words, ",", &next); word; word = strtok_r(NULL, ",", &next)) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "-"), word);
		ask_adapter(request, name, word, request->there);
	}
}

static void list_files(struct readers_request *request)
{
	char path[4096];
	size_t count = 0;

	for (size_t i = 0; files[i]; i++)
		if (!jp_path_build(path, sizeof(path), NULL, "%s/%s", request->dir, files[i]) &&
		    access(path, F_OK) == 0)
			request->there[count++] = files[i];
}

/* Notes the file of a mapping record if no reader can find it any more. */
static int note_gone(void *context, const struct jp_event *event)
{
	struct readers_request *request = context;
	const char *name = event->map.name;
	struct stat st;

	if (event->type != JP_EVENT_MAP || event->kernel_map || *name != '/' || name[1] == '/' ||
	    !(event->map.prot & JP_PROT_EXEC))
		return 0;
	if (!stat(name, &st) && S_ISREG(st.st_mode) &&
	    (!event->map.has_identity || st.st_ino == event->map.ino))
		return 0;
	for (size_t i = 0; i < request->gone.count; i++)
		if (strcmp(request->gone.list[i], name) == 0)
			return 0;
	jp_arguments_add(&request->gone, "%s", name);
	return request->gone.failed ? -ENOMEM : 0;
}

/* Lists the files that are gone, and writes the index. */
static int write_index(struct readers_request *request)
{
	struct jp_perfdata_summary summary;
	struct jp_error unread;
	char path[4096];
	int ret = 0;

	for (const char **file = request->there; *file && !ret; file++) {
		ret = jp_path_build(path, sizeof(path), request->err, "%s/%s", request->dir, *file);
		/* Judging reports a file that cannot be read. */
		if (!ret &&
		    jp_perfdata_read(path, note_gone, request, &summary, &unread) == -ENOMEM)
			ret = jp_fail(request->err, ENOMEM, "out of memory");
	}
	ret = ret ?: jp_shown_index_write(request->dir, &request->gone, request->err);
	jp_arguments_free(&request->gone);
	return ret;
}

int jp_readers_ask(const char *words, const struct jp_case *cas, const char *dir,
		   struct jp_error *err)
{
	struct readers_request request = {.words = words, .dir = dir, .err = err};

	list_files(&request);
	if (strcmp(words, "none") == 0 || !*request.there)
		return 0;
	request.optional = strcmp(words, "all") == 0 || strcmp(words, "own") == 0;
	if (strcmp(words, "own") == 0)
		ask_own(&request, cas);
	else if (strcmp(words, "all") == 0)
		jp_profilers_visit(ask_any, &request);
	else
		ask_named(&request);
	return request.failed || !request.asked ? request.failed : write_index(&request);
}
