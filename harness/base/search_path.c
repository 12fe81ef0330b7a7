// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/search_path.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/printable.h"
#include "harness/base/trusted_path.h"

/* Whether programs may be taken from @folder; what is not there holds none. */
static bool usable(const char *folder)
{
	struct jp_error err = {"it depends on the working directory"};
	char real[PATH_MAX];
	struct stat st;
	int ret = *folder == '/' ? jp_trusted_folder(folder, real, sizeof(real), &err) : -EPERM;

	if (!ret && (stat(real, &st) || !jp_trusted_stat(&st)))
		ret = jp_fail(&err, EPERM, "anyone can put programs there");
	if (ret == -EPERM) {
		fputs("jitproof: '", stderr);
		jp_printable_put(stderr, folder);
		fprintf(stderr, "' of PATH is left out: %s\n", err.text);
	}
	return !ret;
}

void jp_search_path_clean(void)
{
	static bool cleaned;
	const char *path = getenv("PATH");
	jp_cleanup_free char *rest = NULL, *kept = NULL;
	char *next;
	size_t used = 0;

	if (cleaned || geteuid() || !path)
		return;
	cleaned = true;
	rest = strdup(path);
	kept = calloc(1, strlen(path) + 1);
	next = rest;
	for (char *folder; kept && rest && (folder = strsep(&next, ":"));)
		if (usable(folder))
			used += (size_t)sprintf(kept + used, "%s%s", used ? ":" : "", folder);
	/* Without one the C library takes the system's own. */
	if (!used || setenv("PATH", kept, 1))
		unsetenv("PATH");
}
