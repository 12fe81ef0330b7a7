// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/utf8.h"

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
