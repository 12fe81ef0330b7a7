// SPDX-License-Identifier: GPL-2.0-only
#include "harness/command/limit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/exits.h"
#include "harness/command/command_line.h"

int jp_limit_parse(struct jp_limit *limit, const char *value_name, const char *text,
		   struct jp_error *err)
{
	const char *greater = strchr(text, '>');
	size_t length = greater ? (size_t)(greater - text) : 0;
	char *end;

	if (!length || length >= sizeof(limit->name))
		return jp_fail(err, EINVAL, "--fail-if=%s: expected %s>X", text, value_name);
	memcpy(limit->name, text, length);
	limit->name[length] = '\0';
	limit->highest = strtod(greater + 1, &end);
	limit->percent = *end == '%';
	if (end == greater + 1 || strcmp(end, limit->percent ? "%" : "") != 0 ||
	    !(limit->highest >= 0))
		return jp_fail(err, EINVAL, "--fail-if=%s: expected a number after >", text);
	return 0;
}

int jp_limit_check(const struct jp_limit *limit, const char *command, const char *file,
		   double count, double total)
{
	struct jp_error excess;
	double value = count;

	if (limit->percent)
		value = total ? 100 * count / total : 0;
	if (!(value > limit->highest))
		return JP_EXIT_OK;
	jp_fail(&excess, 0, "%s: %s is %.17g%s, above %.17g", file, limit->name, value,
		limit->percent ? " %" : "", limit->highest);
	jp_command_fail(command, &excess);
	return JP_EXIT_BAD;
}
