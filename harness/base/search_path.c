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

/* "PATH=" and what of @path programs may be taken from. */
static char *kept_of(const char *path)
{
	jp_cleanup_free char *rest = strdup(path);
	char *kept = malloc(sizeof("PATH=") + strlen(path)), *next = rest;
	size_t used = 0;

	if (!kept || !rest) {
		free(kept);
		return NULL;
	}
	strcpy(kept, "PATH=");
	for (const char *folder; (folder = strsep(&next, ":"));)
		if (usable(folder))
			used += (size_t)sprintf(kept + strlen("PATH=") + used, "%s%s",
						used ? ":" : "", folder);
	if (!used) /* empty it would be the working directory */
		strcat(kept, "/");
	return kept;
}

char **jp_search_path_environment(void)
{
	static char **made;
	const char *path = getenv("PATH");
	size_t count = 0;

	if (made || geteuid() || !path)
		return made ?: environ;
	while (environ[count])
		count++;
	made = calloc(count + 1, sizeof(*made));
	for (size_t i = 0; made && i < count; i++) {
		made[i] = environ[i];
		if (strncmp(environ[i], "PATH=", strlen("PATH=")) == 0 &&
		    !(made[i] = kept_of(path))) {
			free(made);
			made = NULL;
		}
	}
	return made;
}
