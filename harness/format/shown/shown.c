// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/shown/shown.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/number.h"
#include "harness/base/sort.h"
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
