// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/printable.h"

#include <stddef.h>
#include <stdint.h>

unsigned int jp_utf8_length(const unsigned char *s)
{
	/* The range of the second byte excludes overlong forms, surrogates and values beyond
	 * U+10FFFF. */
	unsigned char low = 0x80, high = 0xbf;
	unsigned int length;

	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		length = 2;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		length = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		length = 4;
	else
		return 0;
	if (s[0] == 0xe0)
		low = 0xa0;
	else if (s[0] == 0xed)
		high = 0x9f;
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;
	if (s[1] < low || s[1] > high)
		return 0;
	for (unsigned int i = 2; i < length; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

uint32_t jp_utf8_code(const unsigned char *s, unsigned int length)
{
	uint32_t code = length == 1 ? *s : *s & (0x7f >> length);

	for (unsigned int i = 1; i < length; i++)
		code = code << 6 | (s[i] & 0x3f);
	return code;
}

/* Ranges of characters that must not be printed. */
static const uint32_t obeyed[][2] = {
	{0, 0x1f},        {0x7f, 0x9f}, {0x61c, 0x61c}, /* Arabic letter mark */
	{0x200e, 0x200f},                               /* left-to-right and right-to-left marks */
	{0x2028, 0x202e}, /* line and paragraph separators; changes of direction */
	{0x2066, 0x2069}, /* isolates */
};

unsigned int jp_printable_length(const char *s)
{
	const unsigned char *bytes = (const unsigned char *)s;
	const unsigned int length = jp_utf8_length(bytes);
	const uint32_t code = jp_utf8_code(bytes, length);

	for (size_t i = 0; i < sizeof(obeyed) / sizeof(obeyed[0]); i++)
		if (length && code >= obeyed[i][0] && code <= obeyed[i][1])
			return 0;
	return length;
}

const char *jp_printable_put_prefix(FILE *out, const char *text)
{
	const char *end = text;
	unsigned int length;

	while (*end && (length = jp_printable_length(end)))
		end += length;
	fwrite(text, 1, (size_t)(end - text), out);
	return end;
}

void jp_printable_put(FILE *out, const char *text)
{
	for (; *(text = jp_printable_put_prefix(out, text)); text++)
		fputc('?', out);
}

char *jp_printable(char *text)
{
	for (char *pos = text; *pos;) {
		const unsigned int length = jp_printable_length(pos);

		if (!length && *pos != '\n')
			*pos = '?';
		pos += length ?: 1;
	}
	return text;
}
