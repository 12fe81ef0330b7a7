// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/printable.h"

char *jp_printable(char *text)
{
	for (char *at = text; *at; at++)
		if (((unsigned char)*at < ' ' && *at != '\n') || *at == 0x7f)
			*at = '?';
	return text;
}
