// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/file.h"
#include "harness/base/path.h"
#include "harness/base/shortage.h"
#include "harness/outcome/case_folder.h"
#include "harness/repro/repro.h"
#include "harness/report/results.h"
#include "harness/format/rundir/run_dir.h"
#include "harness/format/truth/format.h"

/* Largest size of a file and largest number of files: people must be able to send a bug report. */
#define MAX_FILE  (UINT64_C(1) << 30)
#define MAX_FILES 20000

/* Names of the files that a case can have (docs/results-format.md). `case` is written anew, from
 * the parsed definition. */
static const char *const patterns[] = {
	"truth",          "cost",         "observations", "perf.data",    "injected.data",
	"maps",           "capture",      "intervals",    "watched",      "env.json",
	"outcome",        "workload.txt", "inject.txt",   "profiler.txt", "crash",
	"jit-*.dump",     "perf-*.map",   "jitted-*.so",  "seconds",      "witness",
	"witness.denied",
};
static const char *const folders[] = {"elf", "jit", "shown"};

struct staging {
	struct jp_repro *repro;
	const char *run_dir;
	struct jp_error *err;
};

/* Returns whether @name needs no quoting anywhere. */
static bool is_plain(const char *name)
{
	for (const char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._+-", *c))
			return false;
	return name[0] && name[0] != '.';
}

static bool is_case_file(const char *name)
{
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (fnmatch(patterns[i], name, 0) == 0)
			return true;
	return false;
}

static bool is_folder(const char *name)
{
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (strcmp(folders[i], name) == 0)
			return true;
	return false;
}

/* Returns the size of the truth's written part, which is followed by much unused space. */
static uint64_t get_truth_size(int fd, uint64_t size)
{
	struct jp_truth_header header;
	uint64_t length;

	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    memcmp(header.magic, JP_TRUTH_MAGIC, sizeof(header.magic)) != 0 ||
	    header.record_size != sizeof(struct jp_truth_record))
		return size;
	length = header.next_slot < header.capacity ? header.next_slot : header.capacity;
	if (size < JP_TRUTH_PAGE || length > (size - JP_TRUTH_PAGE) / header.record_size)
		return size;
	return JP_TRUTH_PAGE + length * header.record_size;
}

/* Checks that @from is a file of this case. Stores the size of the part to pack in *@size. */
static int check_file(struct staging *staging, int from, const char *relative, uint64_t *size)
{
	struct stat st;

	if (from < 0)
		return jp_fail(staging->err, errno, "%s/%s: %s", staging->run_dir, relative,
			       errno == ELOOP ? "a symbolic link; a regular file was expected"
					      : strerror(errno));
	if (fstat(from, &st) || !S_ISREG(st.st_mode))
		return jp_fail(staging->err, EINVAL, "%s/%s: not a regular file", staging->run_dir,
			       relative);
	if (st.st_nlink != 1)
		return jp_fail(staging->err, EINVAL,
			       "%s/%s: has %ju hard links; one of them may be another user's file",
			       staging->run_dir, relative, (uintmax_t)st.st_nlink);
	*size = (uint64_t)st.st_size;
	if (strcmp(relative, "truth") == 0)
		*size = get_truth_size(from, *size);
	if (*size > MAX_FILE)
		return jp_fail(staging->err, EFBIG,
			       "%s/%s: %" PRIu64 " bytes; at most 1 GiB is packed",
			       staging->run_dir, relative, *size);
	return 0;
}

/* Copies @name from the folder @folder_fd, which is the folder @dir in the case's folder, or the
 * case's folder if @dir is "". */
static int copy_file(struct staging *staging, int folder_fd, const char *dir, const char *name)
{
	jp_cleanup_close int from =
		openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	jp_cleanup_close int output = -1;
	char relative[600], path[4096];
	uint64_t size = 0;
	int ret;

	snprintf(relative, sizeof(relative), "%s%s%s", dir, dir[0] ? "/" : "", name);
	ret = check_file(staging, from, relative, &size)
		      ?: jp_path_build(path, sizeof(path), staging->err, "%s/%s",
				       staging->repro->stage, relative);
	if (ret)
		return ret;
	output = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	ret = output < 0 ? -errno : jp_file_copy(from, output, size);
	if (output >= 0 && close(jp_steal_fd(&output)) && !ret)
		ret = -errno;
	if (ret)
		return jp_fail(staging->err, -ret, "%s/%s: cannot be copied to %s: %s",
			       staging->run_dir, relative, path,
			       ret == -ENODATA ? "it became shorter" : strerror(-ret));
	return jp_word_set_add(&staging->repro->files, relative, strlen(relative))
		       ? jp_fail(staging->err, ENOMEM, "out of memory")
		       : 0;
}

static int open_folder(struct staging *staging, int folder_fd, const char *name)
{
	int fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return jp_fail(staging->err, errno, "%s/%s: %s", staging->run_dir, name,
			       errno == ENOTDIR || errno == ELOOP
				       ? "a folder was expected, and no link to one"
				       : strerror(errno));
	return fd;
}

static int copy_folder(struct staging *staging, int folder_fd, const char *dir);

static int copy_entry(struct staging *staging, int folder_fd, const char *dir, const char *name)
{
	if (!dir[0] && is_folder(name)) {
		jp_cleanup_close int fd = -1;
		char path[4096];
		int ret = jp_path_build(path, sizeof(path), staging->err, "%s/%s",
					staging->repro->stage, name);

		if (ret)
			return ret;
		if (mkdir(path, 0700))
			return jp_fail(staging->err, errno, "%s: %s", path, strerror(errno));
		fd = open_folder(staging, folder_fd, name);
		return fd < 0 ? fd : copy_folder(staging, fd, name);
	}
	if (is_plain(name) && (dir[0] || is_case_file(name)))
		return copy_file(staging, folder_fd, dir, name);
	/* Skip the run's outcome: judging determines it again. */
	if (!dir[0] && (strcmp(name, "case") == 0 || strcmp(name, "ktap.txt") == 0 ||
			strcmp(name, "junit.xml") == 0))
		return 0;
	if (jp_word_set_add(&staging->repro->left_out, name, strlen(name)))
		return jp_fail(staging->err, ENOMEM, "out of memory");
	return 0;
}

static int copy_folder(struct staging *staging, int folder_fd, const char *dir)
{
	jp_cleanup_close int fd = dup(folder_fd);
	jp_cleanup_closedir DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	int ret = 0;

	if (!stream)
		return jp_fail(staging->err, errno, "%s/%s: %s", staging->run_dir, dir,
			       strerror(errno));
	jp_steal_fd(&fd); /* closing the stream closes the descriptor */
	while (!ret && (entry = readdir(stream))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (staging->repro->files.count + staging->repro->left_out.count >= MAX_FILES)
			ret = jp_fail(staging->err, E2BIG, "%s: more than %d files",
				      staging->run_dir, MAX_FILES);
		else
			ret = copy_entry(staging, folder_fd, dir, entry->d_name);
	}
	return ret;
}

static bool is_staged(const struct jp_repro *repro, const char *name)
{
	for (size_t i = 0; i < repro->files.count; i++)
		if (strcmp(repro->files.words[i], name) == 0)
			return true;
	return false;
}

void jp_repro_judge(const struct jp_repro *repro, const char *dir, struct jp_result *result)
{
	static const char link_path[] = "./case";
	size_t length = strlen(dir);
	char *pos = result->reasons, *tail;

	jp_case_folder_judge(repro->cas, dir, result);
	while ((pos = strstr(pos, dir))) {
		tail = pos + length;
		memcpy(pos, link_path, strlen(link_path));
		pos += strlen(link_path);
		memmove(pos, tail, strlen(tail) + 1);
	}
}

/* Returns outcome and figures of the case in @dir, for comparison. */
static char *format_figures(const struct jp_repro *repro, const char *dir)
{
	struct jp_result result = {0};
	size_t size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	jp_repro_judge(repro, dir, &result);
	if (out) {
		jp_results_write(out, &result);
		jp_shortage_close(out, &text);
	}
	jp_findings_free(&result.findings);
	return text;
}

/* Removes facts about the machine from a capture. A capture that cannot be read to its end stays
 * unchanged, because the bug report may be about that; the archive states it. */
static int reduce_capture(struct jp_repro *repro, const char *name, int fd, struct jp_error *err)
{
	struct jp_error detail = {""};
	char path[4096];
	int ret = jp_path_build(path, sizeof(path), err, "%s/%s", repro->stage, name);

	if (ret)
		return ret;
	ret = jp_perfdata_reduce(path, fd, &repro->reduced, &detail);
	if (!ret)
		return 0;
	if (ret != -EINVAL && ret != -ENODATA)
		return jp_fail(err, -ret, "%s", detail.text);
	return jp_word_set_add(&repro->unreduced, name, strlen(name))
		       ? jp_fail(err, ENOMEM, "out of memory")
		       : 0;
}

/* Checks that judging the staged files gives the same result as judging the original, so that
 * nothing is missing that judging needs. */
static int check_same_judgement(const struct jp_repro *repro, const char *original,
				struct jp_error *err)
{
	jp_cleanup_free char *before = format_figures(repro, original), *after = NULL;

	after = format_figures(repro, repro->stage);
	if (!before || !after)
		return jp_fail(err, ENOMEM, "out of memory");
	if (strcmp(before, after) != 0)
		return jp_fail(err, EINVAL,
			       "%s: judging the archive gives another result: %.400s... now, "
			       "%.400s... in the archive",
			       repro->cas->name, before, after);
	return 0;
}

static const char *const captures[] = {"perf.data", "injected.data"};

int jp_repro_copy(struct jp_repro *repro, int fd, const char *from, struct jp_error *err)
{
	struct staging staging = {repro, from, err};
	int ret = copy_folder(&staging, fd, "");

	if (!ret)
		repro->definition = jp_run_dir_create(repro->stage, "case", err);
	if (repro->definition < 0)
		return repro->definition;
	if (!ret && jp_word_set_add(&repro->files, "case", strlen("case")))
		ret = jp_fail(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < sizeof(captures) / sizeof(captures[0]) && !ret; i++) {
		char path[4096];

		if (!is_staged(repro, captures[i]))
			continue;
		ret = jp_path_build(path, sizeof(path), err, "%s/%s", repro->stage, captures[i]);
		if (!ret)
			repro->captures[i] = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		if (repro->captures[i] < 0)
			return jp_fail(err, errno, "%s: %s", path, strerror(errno));
	}
	return ret;
}

int jp_repro_stage(struct jp_repro *repro, const char *original, struct jp_error *err)
{
	const char *text = repro->cas->text;
	int ret = jp_file_write(repro->definition, text, strlen(text));

	if (ret)
		return jp_fail(err, -ret, "%s/case: %s", repro->stage, strerror(-ret));
	for (size_t i = 0; i < sizeof(captures) / sizeof(captures[0]) && !ret; i++)
		if (repro->captures[i])
			ret = reduce_capture(repro, captures[i], repro->captures[i], err);
	return ret ?: check_same_judgement(repro, original, err);
}

void jp_repro_close(struct jp_repro *repro)
{
	if (repro->definition > 0)
		close(repro->definition);
	for (size_t i = 0; i < sizeof(captures) / sizeof(captures[0]); i++)
		if (repro->captures[i] > 0)
			close(repro->captures[i]);
}
