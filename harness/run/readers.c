// SPDX-License-Identifier: GPL-2.0-only
#include "harness/run/readers.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/arguments.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/confine.h"
#include "harness/base/exits.h"
#include "harness/base/number.h"
#include "harness/base/path.h"
#include "harness/base/registry.h"
#include "harness/capture/capture.h"
#include "harness/capture/profilers.h"
#include "harness/format/perfdata/read.h"
#include "harness/format/truth/format.h"
#include "harness/format/shown/shown.h"
#include "harness/model/files/harmless.h"
#include "harness/run/merge.h"

/* Time limit of an adapter, which lets some versions of a profiler read two files, and has a
 * shorter limit for each of them. */
#define READ_NS (1800 * JP_NS_PER_S)

static const char *const files[] = {"perf.data", "injected.data", NULL};

/* State of jp_readers_ask(). */
struct readers_request {
	const char *words, *dir;
	const char *existing[3]; /* those of files[] that exist, NULL-terminated */
	bool optional;           /* an adapter that has no reader is no error */
	bool was_asked;          /* an adapter was asked, so @dir/shown exists */
	struct jp_error *err;
	int failed;
	struct jp_arguments missing_files; /* paths of mapped files that no longer exist */
};

bool jp_readers_are_valid(const char *words)
{
	for (const char *pos = words; *pos; pos++)
		if (!isalnum((unsigned char)*pos) && !strchr(",-_.", *pos))
			return false;
	return *words && *words != ',' && *words != '.';
}

/* Creates the folder @dir/shown. Returns 0, or -errno and a message. */
static int make_folder(struct readers_request *request)
{
	char folder[4096];
	int ret = jp_path_build(folder, sizeof(folder), request->err, "%s/" JP_SHOWN_FOLDER,
				request->dir);

	request->was_asked = true;
	if (!ret && mkdir(folder, 0755))
		ret = jp_fail(request->err, errno, "%s: %s", folder, strerror(errno));
	return ret;
}

/* Lets the profiler @name read the files in @arguments. @only_file: as for jp_profiler_read(). */
static void ask_adapter(struct readers_request *request, const char *name, const char *only_file,
			const char *const *arguments)
{
	int ret;

	if (!request->failed && *arguments && !request->was_asked)
		request->failed = make_folder(request);
	if (request->failed || !*arguments)
		return;
	ret = jp_profiler_read(name, only_file, arguments, request->dir, jp_clock_now() + READ_NS,
			       request->err);
	if (ret && !(ret == -ENOENT && request->optional))
		request->failed = ret == -ENOENT ? -EOPNOTSUPP : ret;
}

/* Lets each profiler of @cas read the file that it wrote. */
static void ask_profiler_of_case(struct readers_request *request, const struct jp_case *cas)
{
	const struct jp_capture *capture = jp_registry_find(JP_CAPTURE, cas->capture_argv[0]);
	const char *merges = jp_merge_profiler(cas);

	for (const char **file = request->existing; *file; file++) {
		const char *const arguments[] = {*file, NULL};
		const bool is_recorded = strcmp(*file, files[0]) == 0;

		if (is_recorded && capture && capture->traits & JP_CAPTURE_EXTERNAL &&
		    cas->capture_argc > 1)
			ask_adapter(request, cas->capture_argv[1], NULL, arguments);
		else if (!is_recorded && merges)
			ask_adapter(request, merges, NULL, arguments);
	}
}

static void ask_any_reader(const char *name, void *context)
{
	struct readers_request *request = context;

	ask_adapter(request, name, "", request->existing);
}

/* Lets the readers named by --readers read all files. Each word is an adapter's name, maybe with a
 * version behind a hyphen. */
static void ask_named_readers(struct readers_request *request)
{
	jp_cleanup_free char *words = strdup(request->words);
	char *next, name[64];

	if (!words) {
		request->failed = jp_fail(request->err, ENOMEM, "out of memory");
		return;
	}
	for (char *word = strtok_r(words, ",", &next); word; word = strtok_r(NULL, ",", &next)) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "-"), word);
		ask_adapter(request, name, word, request->existing);
	}
}

static void list_files(struct readers_request *request)
{
	char path[4096];
	size_t count = 0;

	for (size_t i = 0; files[i]; i++)
		if (!jp_path_build(path, sizeof(path), NULL, "%s/%s", request->dir, files[i]) &&
		    access(path, F_OK) == 0)
			request->existing[count++] = files[i];
}

/* Writes the inode number and the path of the file of an executable mapping to @list. */
static int list_mapped(void *list, const struct jp_event *event)
{
	const char *name = event->map.name;

	if (event->type == JP_EVENT_MAP && !event->kernel_map && *name == '/' && name[1] != '/' &&
	    event->map.prot & JP_PROT_EXEC)
		fprintf(list, "%" PRIu64 " %s%c", event->map.has_identity ? event->map.ino : 0,
			name, '\0');
	return 0;
}

/* Lists the mapped files of the capture @path in the confined process, and exits. Ignores a damaged
 * capture, which judging will report. */
static void list_and_exit(const char *path, FILE *list)
{
	struct jp_perfdata_summary summary;
	struct jp_error unread;
	int ret = jp_perfdata_read(path, list_mapped, list, &summary, &unread);

	_exit(ret == -ENOMEM || fflush(list) ? JP_EXIT_BROKEN : JP_EXIT_OK);
}

/* Lists the mapped files of the untrusted capture @path in a confined process. Returns a stream at
 * the start of the list, or NULL and a message. */
static FILE *list_files_of(const char *path, struct jp_error *err)
{
	const struct jp_confine confine = {
		.readable = {.input = path, .harmless = jp_file_may_be_shown}};
	int fd = memfd_create("mapped", MFD_CLOEXEC), status, ret;
	jp_cleanup_fclose FILE *list = fd < 0 ? NULL : fdopen(fd, "w+");

	if (!list) {
		jp_fail(err, errno, "memory for a list: %s", strerror(errno));
		return NULL;
	}
	ret = jp_confine_enter(&confine, &status, err);
	if (!ret)
		list_and_exit(path, list);
	if (ret > 0 && status)
		jp_fail(err, EIO, "%s: the process that lists its files has failed", path);
	rewind(list);
	return ret > 0 && !status ? jp_steal(&list) : NULL;
}

/* Notes the file in @entry, a line INODE PATH of list_mapped(), if it no longer exists, so that no
 * reader can find it. */
static int note_removed_file(struct readers_request *request, const char *entry)
{
	const char *name = entry;
	struct stat st;
	uint64_t ino;

	if (!jp_number_take(&name, 10, UINT64_MAX, &ino) || *name++ != ' ')
		return jp_fail(request->err, EINVAL,
			       "mapped files: expected INODE PATH, found \"%.60s\"", entry);
	if (!stat(name, &st) && S_ISREG(st.st_mode) && (!ino || st.st_ino == ino))
		return 0;
	for (size_t i = 0; i < request->missing_files.count; i++)
		if (strcmp(request->missing_files.list[i], name) == 0)
			return 0;
	jp_arguments_add(&request->missing_files, "%s", name);
	return request->missing_files.failed ? jp_fail(request->err, ENOMEM, "out of memory") : 0;
}

/* Notes the mapped files of the capture @path that no longer exist. */
static int note_removed_files(struct readers_request *request, const char *path)
{
	jp_cleanup_fclose FILE *list = list_files_of(path, request->err);
	jp_cleanup_free char *entry = NULL;
	size_t size = 0;
	int ret = list ? 0 : -EIO;

	while (!ret && getdelim(&entry, &size, '\0', list) > 0)
		ret = note_removed_file(request, entry);
	return ret;
}

/* Writes an index of @dir/shown with the mapped files that no longer exist. */
static int write_index(struct readers_request *request)
{
	char path[4096];
	int ret = 0;

	for (const char **file = request->existing; *file && !ret; file++)
		ret = jp_path_build(path, sizeof(path), request->err, "%s/%s", request->dir, *file)
			      ?: note_removed_files(request, path);
	ret = ret ?: jp_shown_index_write(request->dir, &request->missing_files, request->err);
	jp_arguments_free(&request->missing_files);
	return ret;
}

int jp_readers_ask(const char *words, const struct jp_case *cas, const char *dir,
		   struct jp_error *err)
{
	struct readers_request request = {.words = words, .dir = dir, .err = err};

	list_files(&request);
	if (strcmp(words, "none") == 0 || !*request.existing)
		return 0;
	request.optional = strcmp(words, "all") == 0 || strcmp(words, "own") == 0;
	if (strcmp(words, "own") == 0)
		ask_profiler_of_case(&request, cas);
	else if (strcmp(words, "all") == 0)
		jp_profilers_visit(ask_any_reader, &request);
	else
		ask_named_readers(&request);
	return request.failed || !request.was_asked ? request.failed : write_index(&request);
}
