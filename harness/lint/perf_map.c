// SPDX-License-Identifier: GPL-2.0-only
#include "harness/lint/perf_map.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/file.h"
#include "harness/base/number.h"

/* Limits for hostile files: bytes and lines. */
#define MOST (UINT64_C(256) << 20)
enum { MOST_LINES = 1 << 24 };

static int keep_bad_line(struct jp_lint_map *map, uint32_t number, const char *reason)
{
	struct jp_lint_bad_lines *last_lines =
		map->nr_bad ? &map->bad_lines[map->nr_bad - 1] : NULL;

	map->nr_bad_lines++;
	if (last_lines && last_lines->reason == reason &&
	    last_lines->first + last_lines->count == number) {
		last_lines->count++;
		return 0;
	}
	return jp_array_append(&map->bad_lines, &map->nr_bad, &map->bad_capacity,
			       (struct jp_lint_bad_lines){number, 1, reason});
}

/* Parses a number and the blanks before it. Adds deviations to line->dialect. */
static bool parse_number(const char **pos, struct jp_lint_line *line, uint64_t *value)
{
	const char *digits;

	while (**pos == ' ' || **pos == '\t') {
		line->dialect |= JP_LINT_BLANKS;
		++*pos;
	}
	digits = *pos;
	if (!jp_number_take(pos, 16, UINT64_MAX, value))
		return false;
	if (digits[0] == '0' && (digits[1] | ' ') == 'x')
		line->dialect |= JP_LINT_PREFIX;
	for (; digits < *pos; digits++)
		if (isupper((unsigned char)*digits))
			line->dialect |= JP_LINT_UPPER;
	return true;
}

/* Parses a line. Returns NULL, or the text that was expected instead. */
static const char *parse_line(const char *text, size_t length, struct jp_lint_line *line)
{
	const char *pos = text;

	if (memchr(text, '\0', length))
		return "a text; found a NUL byte";
	if (!length)
		return "START SIZE NAME; found an empty line";
	if (!parse_number(&pos, line, &line->start))
		return "START, a hexadecimal number of at most 64 bits";
	if (*pos != ' ' && *pos != '\t')
		return "a blank behind START";
	line->dialect |= *pos++ == ' ' ? 0 : JP_LINT_BLANKS;
	if (!parse_number(&pos, line, &line->size))
		return "SIZE, a hexadecimal number of at most 64 bits";
	if (*pos != ' ' && *pos != '\t' && *pos != '\r' && *pos)
		return "a blank behind SIZE";
	if (*pos == ' ' || *pos == '\t')
		line->dialect |= *pos++ == ' ' ? 0 : JP_LINT_BLANKS;
	line->name = pos;
	return NULL;
}

static int parse_text(struct jp_lint_map *map, size_t size)
{
	uint64_t number = 0;
	int ret = 0;

	for (size_t offset = 0, next; offset < size && !ret; offset = next) {
		struct jp_lint_line line = {.number = ++number};
		char *newline = memchr(map->text + offset, '\n', size - offset);
		size_t end = newline ? (size_t)(newline - map->text) : size;
		const char *reason;

		next = end + 1;
		map->unfinished = !newline;
		map->text[end] = '\0';
		if (number > MOST_LINES)
			return -E2BIG;
		reason = parse_line(map->text + offset, end - offset, &line);
		if (reason) {
			ret = keep_bad_line(map, number, reason);
			continue;
		}
		if (end > offset && map->text[end - 1] == '\r') {
			line.dialect |= JP_LINT_RETURN;
			map->text[end - 1] = '\0';
		}
		if (jp_array_append(&map->lines, &map->count, &map->capacity, line))
			return -ENOMEM;
	}
	return ret;
}

int jp_lint_map_read(struct jp_lint_map *map, struct jp_error *err)
{
	size_t size;
	int ret;

	map->text = jp_file_read_regular(map->file.path, MOST, &size, err);
	if (!map->text)
		return -EIO;
	ret = parse_text(map, size);
	if (ret == -E2BIG)
		jp_fail(err, E2BIG, "%s: line %d: expected fewer lines", map->file.path,
			MOST_LINES);
	else if (ret)
		jp_fail(err, ENOMEM, "%s: out of memory", map->file.path);
	return ret;
}

void jp_lint_map_free(struct jp_lint_map *map)
{
	free(map->bad_lines);
	free(map->lines);
	free(map->text);
}
