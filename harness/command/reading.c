// SPDX-License-Identifier: GPL-2.0-only
#include "harness/command/reading.h"

#include "harness/base/shortage.h"
#include "harness/command/command_line.h"
#include "harness/model/files/harmless.h"

bool jp_reading_begin_with(const char *command, const struct jp_confine *confine, int *status)
{
	struct jp_error err;
	int ret = jp_confine_enter(confine, status, &err);

	if (ret < 0)
		*status = jp_command_fail(command, &err);
	return ret;
}

bool jp_reading_begin(const char *command, const char *input, const char *folder,
		      const char *other_folder, int *status)
{
	const struct jp_confine confine = {
		.readable = {.input = input,
			     .folders = {folder, other_folder},
			     .harmless = jp_file_may_be_shown},
	};

	return jp_reading_begin_with(command, &confine, status);
}

int jp_reading_end(const char *command, int status)
{
	struct jp_error err;

	return jp_shortage_describe(err.text, sizeof(err.text)) ? jp_command_fail(command, &err)
								: status;
}
