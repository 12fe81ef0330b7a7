// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/observations/word.h"

#include <ctype.h>
#include <string.h>

char *jp_word_split(char **line)
{
	char *start = *line, *blank = strchr(start, ' ');

	if (!*start || blank == start)
		return NULL;
	*line = blank ? blank + 1 : start + strlen(start);
	if (blank)
		*blank = '\0';
	return start;
}

static int parse_hex_digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

bool jp_word_unescape(char *name)
{
	char *out = name;

	for (; *name; name++, out++) {
		if (*name != '%') {
			*out = *name;
			continue;
		}
		if (!isxdigit((unsigned char)name[1]) || !isxdigit((unsigned char)name[2]))
			return false;
		*out = (char)(parse_hex_digit(name[1]) << 4 | parse_hex_digit(name[2]));
		if (!*out)
			return false;
		name += 2;
	}
	*out = '\0';
	return true;
}
