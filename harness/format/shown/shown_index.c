// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/shown/shown_index.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/cleanup.h"
#include "harness/base/digest.h"
#include "harness/base/file.h"
#include "harness/base/number.h"
#include "harness/base/path.h"
#include "harness/base/printable.h"
#include "harness/base/untrusted_file.h"

enum { MOST_BYTES = 1 << 30, MOST_INDEX = 1 << 20, PATH_SIZE = 4096 };

static bool is_reading(const char *name)
{
	return *name != '.' && strcmp(name, "index") != 0 && strcmp(name, "messages") != 0;
}

/* Builds the path of @name ("": the folder itself) in @dir. */
static int build_path(char *path, const char *dir, const char *name, struct jp_error *err)
{
	return jp_path_build(path, PATH_SIZE, err, "%s/" JP_SHOWN_FOLDER "%s%s", dir,
			     *name ? "/" : "", name);
}

/* Reads the file @name in folder @dir and computes its digest. Returns its text, or NULL and a
 * message. */
static char *read_reading(const char *dir, const char *name, size_t *size, uint64_t *digest,
			  struct jp_error *err)
{
	char path[PATH_SIZE], *text;

	if (build_path(path, dir, name, err))
		return NULL;
	text = jp_file_read_regular(path, MOST_BYTES, size, err);
	if (text)
		*digest = jp_digest_bytes(0, text, *size);
	return text;
}

static int write_line(FILE *index, const char *dir, const char *name, struct jp_error *err)
{
	uint64_t digest = 0;
	size_t size;
	jp_cleanup_free char *text = read_reading(dir, name, &size, &digest, err);

	if (text)
		fprintf(index, "%016" PRIx64 " %s\n", digest, name);
	return text ? 0 : -EIO;
}

static uint64_t digest_path(const char *path)
{
	return jp_digest_bytes(0, path, strlen(path));
}

static int write_lines(const char *dir, const struct jp_folder_names *names,
		       const struct jp_arguments *gone, struct jp_error *err)
{
	char path[PATH_SIZE];
	int ret = build_path(path, dir, "index", err);
	FILE *index = ret ? NULL : jp_file_create(path, false, err);

	if (!index)
		return -EIO;
	for (size_t i = 0; i < names->count && !ret; i++)
		ret = write_line(index, dir, names->names[i], err);
	for (size_t i = 0; i < gone->count && !ret; i++) {
		fprintf(index, "gone %016" PRIx64 " ", digest_path(gone->list[i]));
		for (const char *text = gone->list[i];
		     *(text = jp_printable_put_prefix(index, text)); text++)
			fputc('?', index);
		fputc('\n', index);
	}
	if (!ret && fflush(index))
		ret = jp_fail(err, errno, "%s: %s", path, strerror(errno));
	fclose(index);
	return ret;
}

int jp_shown_index_write(const char *dir, const struct jp_arguments *gone, struct jp_error *err)
{
	struct jp_folder_names names = {0};
	char path[PATH_SIZE];
	int ret =
		build_path(path, dir, "", err) ?: jp_untrusted_list(path, &names, is_reading, err);

	if (!ret)
		ret = write_lines(dir, &names, gone, err);
	jp_folder_names_free(&names);
	return ret;
}

/* Parses a line "gone DIGEST PATH" of the index. */
static int load_gone_path(struct jp_shown_files *files, const char *dir, const char *line,
			  struct jp_error *err)
{
	const char *tail = line;
	uint64_t digest;

	if (!jp_number_take(&tail, 16, UINT64_MAX, &digest) || *tail != ' ')
		return jp_fail(err, EINVAL,
			       "%s/" JP_SHOWN_FOLDER "/index: expected gone DIGEST PATH, there is "
			       "\"gone %.60s\"",
			       dir, line);
	return jp_map_at(&files->missing_paths, digest, 1)
		       ? 0
		       : jp_fail(err, ENOMEM, "%s: out of memory", dir);
}

/* Reads the file that @line of the index names. */
static int load_line(struct jp_shown_files *files, const char *dir, char *line,
		     struct jp_error *err)
{
	char *name = strchr(line, ' '), expected[24], path[PATH_SIZE], *text;
	struct jp_shown *shown;
	uint64_t digest = 0;
	size_t size;
	int ret;

	if (strncmp(line, "gone ", 5) == 0)
		return load_gone_path(files, dir, line + 5, err);
	if (!name || strchr(name + 1, '/'))
		return jp_fail(err, EINVAL,
			       "%s/" JP_SHOWN_FOLDER "/index: expected DIGEST NAME, "
			       "there is \"%.60s\"",
			       dir, line);
	*name++ = '\0';
	text = read_reading(dir, name, &size, &digest, err);
	if (!text)
		return -EIO;
	snprintf(expected, sizeof(expected), "%016" PRIx64, digest);
	if (build_path(path, dir, name, err) || strcmp(line, expected) != 0) {
		free(text);
		return jp_fail(err, EINVAL, "%s: its digest is %s, the index has %.16s", path,
			       expected, line);
	}
	shown = jp_array_push(&files->files, &files->count, &files->capacity);
	if (!shown) {
		free(text);
		return jp_fail(err, ENOMEM, "%s: out of memory", path);
	}
	ret = jp_shown_parse(shown, path, text, size, err);
	if (!ret && !strchr(shown->file, '/') &&
	    !jp_path_build(path, sizeof(path), NULL, "%s/%s", dir, shown->file)) {
		jp_cleanup_close int folder = jp_untrusted_open_folder(AT_FDCWD, path);

		shown->folder = folder >= 0;
	}
	return ret;
}

/* Fails if the folder contains more files than the index lists. All listed files were read
 * already. */
static int check_names(const struct jp_shown_files *files, const char *dir, struct jp_error *err)
{
	struct jp_folder_names names = {0};
	char path[PATH_SIZE];
	int ret =
		build_path(path, dir, "", err) ?: jp_untrusted_list(path, &names, is_reading, err);

	if (!ret && names.count != files->count)
		ret = jp_fail(err, EINVAL, "%s: contains %zu readings, but its index lists %zu",
			      path, names.count, files->count);
	jp_folder_names_free(&names);
	return ret;
}

int jp_shown_files_load(struct jp_shown_files *files, const char *dir, struct jp_error *err)
{
	jp_cleanup_free char *index = NULL;
	char path[PATH_SIZE];
	int ret = build_path(path, dir, "", err);

	*files = (struct jp_shown_files){0};
	if (ret || jp_untrusted_check_exists(path) == -ENOENT)
		return ret;
	ret = build_path(path, dir, "index", err);
	index = ret ? NULL : jp_file_read_regular(path, MOST_INDEX, NULL, err);
	if (!index)
		return -EINVAL;
	for (char *next, *line = strtok_r(index, "\n", &next); line && !ret;
	     line = strtok_r(NULL, "\n", &next))
		ret = load_line(files, dir, line, err);
	return ret ?: check_names(files, dir, err);
}

bool jp_shown_is_gone(const struct jp_shown_files *files, const char *name)
{
	return jp_map_find(&files->missing_paths, digest_path(name)) != NULL;
}

void jp_shown_files_free(struct jp_shown_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		jp_shown_free(&files->files[i]);
	free(files->files);
	jp_map_free(&files->missing_paths);
	*files = (struct jp_shown_files){0};
}
