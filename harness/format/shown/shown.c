// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/shown/shown.h"

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
#include "harness/base/sort.h"
#include "harness/base/untrusted_file.h"
#include "harness/format/observations/word.h"

/* Largest number of frames of a sample: more than any program is asked for. */
enum { MOST_FRAMES = 4096 };

static const char first_line[] = "jitproof-shown 1";

/* Parses 0xADDRESS, 0xADDRESS=NAME, 0xADDRESS=NAME=0xOFFSET or NAME. Returns NULL, or what was
 * expected. */
static const char *parse_frame(struct jp_shown_frame *frame, char *text)
{
	const char *tail = text;
	char *offset;

	*frame = (struct jp_shown_frame){.name = text, .offset = UINT64_MAX};
	if (strncmp(text, "0x", 2) == 0) {
		if (!jp_number_take(&tail, 16, UINT64_MAX, &frame->addr) || (*tail && *tail != '='))
			return "a frame such as 0x7f12, 0x7f12=name or 0x7f12=name=0x12";
		frame->placed = true;
		frame->name = *tail ? tail + 1 : NULL;
	}
	offset = frame->name ? strchr(frame->name, '=') : NULL;
	if (offset) {
		tail = offset + 1;
		*offset = '\0';
		if (!frame->placed || strncmp(tail, "0x", 2) != 0 ||
		    !jp_number_take(&tail, 16, UINT64_MAX - 1, &frame->offset) || *tail)
			return "a hexadecimal offset behind address and name";
	}
	if (frame->name && (!*frame->name || !jp_word_unescape(text + (frame->name - text))))
		return "a name, with %XX, and not %00, for a byte of it";
	if (frame->name && strcmp(frame->name, "?") == 0)
		frame->name = NULL;
	return NULL;
}

static const char *parse_frames(struct jp_shown *shown, struct jp_shown_sample *sample, char *line)
{
	const char *expected = NULL;
	char *word;

	sample->first = shown->nr_frames;
	for (; !expected && (word = jp_word_split(&line)); sample->count++) {
		struct jp_shown_frame *frame =
			jp_array_push(&shown->frames, &shown->nr_frames, &shown->frames_capacity);

		if (!frame)
			return "more memory";
		if (sample->count == MOST_FRAMES)
			return "at most 4096 frames";
		expected = parse_frame(frame, word);
	}
	return expected ?: *line ? "one blank between frames" : NULL;
}

static const char *parse_sample(struct jp_shown *shown, char *line, size_t number)
{
	struct jp_shown_sample *sample =
		jp_array_push(&shown->samples, &shown->count, &shown->capacity);
	const char *time = jp_word_split(&line), *pid = jp_word_split(&line),
		   *tid = jp_word_split(&line);
	char *top = jp_word_split(&line);
	uint64_t ids[2];

	if (!sample)
		return "more memory";
	if (!time || !pid || !tid || !top || !jp_number(time, 0, UINT64_MAX, &sample->time) ||
	    !jp_number(pid, 0, UINT32_MAX, &ids[0]) || !jp_number(tid, 0, UINT32_MAX, &ids[1]))
		return "sample TIME PID TID TOP [FRAME...]";
	sample->line = number;
	sample->pid = (uint32_t)ids[0];
	sample->tid = (uint32_t)ids[1];
	sample->has_top = strcmp(top, "-") != 0;
	if (sample->has_top) {
		const char *expected = parse_frame(&sample->top, top);

		if (expected)
			return expected;
	}
	return parse_frames(shown, sample, line);
}

static const char *parse_share(struct jp_shown *shown, char *line)
{
	struct jp_shown_share *share =
		jp_array_push(&shown->shares, &shown->nr_shares, &shown->shares_capacity);
	const char *tid = jp_word_split(&line), *samples = jp_word_split(&line);
	uint64_t id;

	if (!share)
		return "more memory";
	if (!tid || !samples || !jp_number(tid, 0, UINT32_MAX, &id) ||
	    !jp_number(samples, 1, UINT64_MAX, &share->samples) || !*line || strchr(line, ' ') ||
	    !jp_word_unescape(line))
		return "share TID SAMPLES NAME";
	share->tid = (uint32_t)id;
	share->name = line;
	return NULL;
}

/* Copies a text of the header. Returns NULL, or what was expected. */
static const char *copy_text(char *target, size_t size, const char *text)
{
	if (!*text || strlen(text) >= size)
		return "a shorter text";
	strcpy(target, text);
	return NULL;
}

static const char *parse_line(struct jp_shown *shown, char *line, size_t number)
{
	const char *word = jp_word_split(&line);

	if (word && strcmp(word, "sample") == 0)
		return parse_sample(shown, line, number);
	if (word && strcmp(word, "share") == 0 && shown->has_shares)
		return parse_share(shown, line);
	if (word && strcmp(word, "shares") == 0 && !shown->has_shares) {
		shown->has_shares = true;
		return jp_number(line, 0, UINT64_MAX, &shown->stated_shares) ? NULL
									     : "shares NUMBER";
	}
	if (word && strcmp(word, "reader") == 0 && !*shown->reader)
		return copy_text(shown->reader, sizeof(shown->reader), line);
	if (word && strcmp(word, "file") == 0 && !*shown->file)
		return copy_text(shown->file, sizeof(shown->file), line);
	if (word && *line && strcmp(word, "failed") == 0 && !shown->failure) {
		shown->failure = line;
		return NULL;
	}
	if (word && *line && strcmp(word, "older") == 0 && !shown->older) {
		shown->older = line;
		return NULL;
	}
	return "sample, or one of each of reader, file, shares, failed and older; or share after "
	       "shares";
}

JP_ORDER(compare_by_time, struct jp_shown_sample,
	 jp_compare(a->time, b->time) ?: jp_compare(a->line, b->line));

int jp_shown_parse(struct jp_shown *shown, const char *path, char *text, size_t size,
		   struct jp_error *err)
{
	const char *expected = NULL;
	size_t number = 1;

	*shown = (struct jp_shown){.text = text};
	if (strlen(text) != size)
		return jp_fail(err, EINVAL, "%s: offset %zu: a NUL", path, strlen(text));
	if (!size || text[size - 1] != '\n')
		return jp_fail(err, EINVAL, "%s: expected a newline at its end (cut off?)", path);
	for (char *line = text, *next; *line && !expected; line = next, number++) {
		next = strchr(line, '\n');
		*next++ = '\0';
		expected = number > 1                      ? parse_line(shown, line, number)
			   : strcmp(line, first_line) != 0 ? first_line
							   : NULL;
	}
	if (expected)
		return jp_fail(err, EINVAL, "%s: line %zu: expected %s", path, number - 1,
			       expected);
	if (!*shown->reader || !*shown->file)
		return jp_fail(err, EINVAL, "%s: expected a reader and a file", path);
	if (shown->nr_shares != shown->stated_shares)
		return jp_fail(err, EINVAL, "%s: expected %" PRIu64 " shares, found %zu", path,
			       shown->stated_shares, shown->nr_shares);
	jp_sort(shown->samples, shown->count, compare_by_time);
	return 0;
}

void jp_shown_free(struct jp_shown *shown)
{
	free(shown->samples);
	free(shown->frames);
	free(shown->shares);
	free(shown->text);
	memset(shown, 0, sizeof(*shown));
}

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

static int write_lines(const char *dir, const struct jp_arguments *names,
		       const struct jp_arguments *gone, struct jp_error *err)
{
	char path[PATH_SIZE];
	int ret = build_path(path, dir, "index", err);
	FILE *index = ret ? NULL : jp_file_create(path, false, err);

	if (!index)
		return -EIO;
	for (size_t i = 0; i < names->count && !ret; i++)
		ret = write_line(index, dir, names->list[i], err);
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
	jp_cleanup_arguments struct jp_arguments names = {0};
	char path[PATH_SIZE];

	return build_path(path, dir, "", err) ?: jp_untrusted_list(path, &names, is_reading, err)
		       ?: write_lines(dir, &names, gone, err);
}

/* Parses a line "gone DIGEST PATH" of the index. */
static int load_gone_path(struct jp_shown_files *files, const char *dir, const char *line,
			  struct jp_error *err)
{
	const char *tail = line;
	uint64_t digest;

	if (!jp_number_take(&tail, 16, UINT64_MAX, &digest) || *tail != ' ')
		return jp_fail(err, EINVAL,
			       "%s/" JP_SHOWN_FOLDER "/index: expected gone DIGEST PATH, found "
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
			       "%s/" JP_SHOWN_FOLDER "/index: expected DIGEST NAME, found "
			       "\"%.60s\"",
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
	jp_cleanup_arguments struct jp_arguments names = {0};
	char path[PATH_SIZE];
	int ret =
		build_path(path, dir, "", err) ?: jp_untrusted_list(path, &names, is_reading, err);

	if (!ret && names.count != files->count)
		return jp_fail(err, EINVAL, "%s: contains %zu readings, but its index lists %zu",
			       path, names.count, files->count);
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
