// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/printable.h"

#include <stddef.h>
#include <stdint.h>

#include "harness/base/utf8.h"

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
