// SPDX-License-Identifier: GPL-2.0-only
#include "harness/run/cpu_model.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/cleanup.h"

bool jp_cpu_model(char *text, size_t size)
{
	jp_cleanup_fclose FILE *file = fopen("/proc/cpuinfo", "re");
	char line[512], *colon = NULL;

	while (file && !colon && fgets(line, sizeof(line), file))
		if (strncmp(line, "model name", 10) == 0)
			colon = strchr(line, ':');
	if (!colon)
		return false;
	colon[strcspn(colon, "\n")] = '\0';
	snprintf(text, size, "%s", colon + 1 + strspn(colon + 1, " "));
	return true;
}
