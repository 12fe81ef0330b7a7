// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/procmaps/procmaps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "harness/format/truth/format.h"

struct cursor {
	const char *pos, *end; /* a position in a line, and the line's end */
};

static bool parse_number(struct cursor *line, unsigned int base, uint64_t max, uint64_t *value)
{
	const char *start = line->pos;

	/* The loop ends at the newline at the latest, because a newline is not a digit. */
	for (*value = 0;; line->pos++) {
		unsigned int digit = 99;

		if (*line->pos >= '0' && *line->pos <= '9')
			digit = *line->pos - '0';
		else if (*line->pos >= 'a' && *line->pos <= 'f')
			digit = *line->pos - 'a' + 10;
		if (digit >= base)
			break;
		if (*value > (max - digit) / base)
			return false;
		*value = *value * base + digit;
	}
	return line->pos > start;
}

static bool skip_char(struct cursor *line, char c)
{
	return line->pos < line->end && *line->pos++ == c;
}

/* Parses one permission: the letter @set, which sets @bit in *@prot, or '-'. */
static bool parse_permission(struct cursor *line, char set, uint8_t bit, uint8_t *prot)
{
	if (line->pos == line->end || (*line->pos != set && *line->pos != '-'))
		return false;
	if (*line->pos++ == set)
		*prot |= bit;
	return true;
}

/* Decodes the name at @line into @out and returns the byte after its NUL. The kernel writes a
 * newline as \012 and escapes nothing else (seq_file's escape set is "\n"). */
static char *decode_name(char *out, const struct cursor *line)
{
	for (const char *s = line->pos; s < line->end; s++) {
		if (line->end - s >= 4 && memcmp(s, "\\012", 4) == 0) {
			*out++ = '\n';
			s += 3;
		} else {
			*out++ = *s;
		}
	}
	*out++ = '\0';
	return out;
}

/* Parses one line up to its name, at which @line then points. Returns NULL, or what was expected at
 * @line. */
static const char *parse_line(struct cursor *line, struct jp_procmap *map)
{
	uint64_t maj, min;

	if (!parse_number(line, 16, UINT64_MAX, &map->start) || !skip_char(line, '-') ||
	    !parse_number(line, 16, UINT64_MAX, &map->end) || !skip_char(line, ' '))
		return "START-END in hexadecimal";
	if (map->start >= map->end)
		return "a start below the end";
	map->prot = 0;
	if (!parse_permission(line, 'r', JP_PROT_READ, &map->prot) ||
	    !parse_permission(line, 'w', JP_PROT_WRITE, &map->prot) ||
	    !parse_permission(line, 'x', JP_PROT_EXEC, &map->prot) || line->pos == line->end ||
	    (*line->pos != 's' && *line->pos != 'p'))
		return "permissions such as r-xp";
	map->shared = *line->pos++;
	if (!skip_char(line, ' ') || !parse_number(line, 16, UINT64_MAX, &map->offset) ||
	    !skip_char(line, ' '))
		return "an offset in hexadecimal";
	if (!parse_number(line, 16, UINT32_MAX, &maj) || !skip_char(line, ':') ||
	    !parse_number(line, 16, UINT32_MAX, &min) || !skip_char(line, ' '))
		return "a device MAJOR:MINOR in hexadecimal";
	map->maj = maj;
	map->min = min;
	if (!parse_number(line, 10, UINT64_MAX, &map->ino))
		return "an inode number";
	if (line->pos < line->end && !skip_char(line, ' '))
		return "a blank after the inode number";
	/* Blanks align the name, which starts with '/' or '['. */
	while (line->pos < line->end && *line->pos == ' ')
		line->pos++;
	if (memchr(line->pos, '\0', line->end - line->pos))
		return "a name without NUL";
	return NULL;
}

int jp_procmaps_parse(const char *text, size_t size, struct jp_procmap **maps, size_t *count,
		      struct jp_error *err)
{
	const char *end = text + size;
	size_t lines = 0, line_number = 0;
	struct jp_procmap *entries;
	char *names;

	for (const char *s = text; s < end; lines++) {
		const char *newline = memchr(s, '\n', end - s);

		if (!newline)
			return jp_fail(err, EINVAL,
				       "maps line %zu: expected a newline at its end (cut off?)",
				       lines + 1);
		s = newline + 1;
	}
	/* A name with its NUL is never longer than its line with the newline. */
	entries = malloc(lines * sizeof(*entries) + size + 1);
	if (!entries)
		return jp_fail(err, ENOMEM, "out of memory for %zu lines of maps", lines);
	names = (char *)(entries + lines);
	for (const char *s = text; s < end; line_number++) {
		struct cursor line = {s, memchr(s, '\n', end - s)};
		const char *expected = parse_line(&line, &entries[line_number]);

		if (expected) {
			int column = line.pos - s + 1;

			free(entries);
			return jp_fail(err, EINVAL, "maps line %zu, column %d: expected %s",
				       line_number + 1, column, expected);
		}
		entries[line_number].name = names;
		names = decode_name(names, &line);
		s = line.end + 1;
	}
	*maps = entries;
	*count = lines;
	return 0;
}

struct jp_event jp_procmap_event(const struct jp_procmap *map, uint32_t pid, uint64_t time)
{
	return (struct jp_event){
		.type = JP_EVENT_MAP,
		.time = time,
		.pid = pid,
		.tid = pid,
		.map = {.addr = map->start,
			.len = map->end - map->start,
			.pgoff = *map->name ? map->offset : map->start,
			.maj = map->maj,
			.min = map->min,
			.ino = map->ino,
			.has_identity = true,
			.prot = map->prot,
			.flags = map->shared == 's' ? MAP_SHARED : MAP_PRIVATE,
			.name = *map->name ? map->name : "//anon"},
	};
}

bool jp_procmap_same_file(const struct jp_procmap *a, const struct jp_procmap *b)
{
	return a->maj == b->maj && a->min == b->min && a->ino == b->ino && a->shared == b->shared;
}

uint64_t jp_procmap_loaded_end(const struct jp_procmap *maps, size_t count)
{
	uint64_t end = maps->end;

	if (maps->offset || *maps->name != '/')
		return end;
	for (size_t i = 1; i < count; i++) {
		const bool is_same_file = jp_procmap_same_file(&maps[i], maps);

		if (is_same_file && maps[i].prot & JP_PROT_EXEC)
			break;
		if (is_same_file || (!*maps[i].name && maps[i].start == end))
			end = maps[i].end;
		else if (*maps[i].name == '/')
			break;
		/* Memory without a file, such as [vdso], may lie in a gap of the file. */
	}
	return end;
}
