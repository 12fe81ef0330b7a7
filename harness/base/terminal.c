// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/terminal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "harness/base/number.h"
#include "harness/base/printable.h"

unsigned int jp_terminal_width(int fd)
{
	enum { LEAST = 40, USUAL = 80, MOST = 1000 };
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	uint64_t width;

	if (columns && jp_number(columns, LEAST, MOST, &width))
		return (unsigned int)width;
	/* A serial line reports no size. */
	if (ioctl(fd, TIOCGWINSZ, &size) || size.ws_col < LEAST)
		return USUAL;
	return size.ws_col;
}

/* Returns the number of characters in @text, counting each byte that is not UTF-8 as a
 * character. */
static size_t count_columns(const char *text)
{
	size_t columns = 0;

	for (; *text; text += jp_printable_length(text) ?: 1)
		columns++;
	return columns;
}

const char *jp_terminal_shorten(const char *text, size_t columns, enum jp_terminal_cut side,
				char *out, size_t size)
{
	const size_t nr_columns = count_columns(text), dots = strlen("...");
	const size_t tail = side == JP_CUT_MIDDLE ? (columns - dots + 1) / 2 : 0;
	const size_t head = nr_columns <= columns ? nr_columns : columns - dots - tail;
	size_t nr_written = 0;

	for (size_t column = 0; *text && nr_written + 8 < size; column++) {
		const unsigned int length = jp_printable_length(text);

		if (column == head) {
			memcpy(out + nr_written, "...", dots);
			nr_written += dots;
		}
		if (column < head || column >= nr_columns - tail) {
			memcpy(out + nr_written, length ? text : "?", length ?: 1);
			nr_written += length ?: 1;
		}
		text += length ?: 1;
	}
	out[nr_written] = '\0';
	return out;
}

void jp_terminal_put_words(FILE *out, const char *text, unsigned int indent, unsigned int width)
{
	jp_terminal_put_marked(out, "", text, indent, width);
}

void jp_terminal_put_marked(FILE *out, const char *mark, const char *text, unsigned int indent,
			    unsigned int width)
{
	const size_t room = width - indent;
	size_t column = 0;

	while (*(text += strspn(text, " "))) {
		const size_t length = strcspn(text, " ");
		char word[512], short_text[2048];
		size_t columns;

		snprintf(word, sizeof(word), "%.*s", (int)length, text);
		jp_terminal_shorten(word, room, JP_CUT_MIDDLE, short_text, sizeof(short_text));
		columns = count_columns(short_text);
		if (column && column + 1 + columns > room) {
			fprintf(out, "\n%-*s", (int)indent, mark);
			column = 0;
		}
		column += (column ? 1 : 0) + columns;
		fprintf(out, "%s%s", column > columns ? " " : "", short_text);
		text += length;
	}
	fputc('\n', out);
}
