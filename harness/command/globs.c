// SPDX-License-Identifier: GPL-2.0-only
#include "harness/command/globs.h"

#include <fnmatch.h>

bool jp_globs_match(char *const *globs, int count, const char *name)
{
	for (int i = 0; i < count; i++)
		if (fnmatch(globs[i], name, 0) == 0)
			return true;
	return !count;
}
