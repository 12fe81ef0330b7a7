// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/search_path.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/path.h"
#include "harness/base/printable.h"
#include "harness/base/trusted_path.h"

static void report_untrusted_entry(const char *text, const char *entry, const struct jp_error *err)
{
	fputs("jitproof: '", stderr);
	jp_printable_put(stderr, text);
	fprintf(stderr, "'%s is left out: %s\n", entry, err->text);
}

/* Returns whether programs may be taken from @folder; a missing folder is harmless. */
static bool is_usable(const char *folder)
{
	struct jp_error err = {"it depends on the working directory"};
	char real_path[PATH_MAX];
	int ret = *folder == '/'
			  ? jp_trusted_find_programs(folder, real_path, sizeof(real_path), &err)
			  : -EPERM;

	if (ret == -EPERM)
		report_untrusted_entry(folder, " of PATH", &err);
	return !ret;
}

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Checks the folder that ci/peers makes: its programs are in bin. */
static int check_peers_folder(const char *peers, struct jp_error *err)
{
	char bin[PATH_MAX], real_path[PATH_MAX];
	int ret = jp_path_build(bin, sizeof(bin), err, "%s/bin", peers);

	return ret ?: jp_trusted_find_programs(bin, real_path, sizeof(real_path), err);
}

/* Returns whether no other user can change the program, or the folder of programs, that one of our
 * variables names, or rename files in TMPDIR. */
static bool is_trusted_variable(const char *variable)
{
	const char *value = strchr(variable, '=');
	char real_path[PATH_MAX];
	struct jp_error err;
	int ret;

	if (!value || (!has_prefix(variable, "TMPDIR=") &&
		       (!has_prefix(variable, "JITPROOF_") || !strchr(value, '/'))))
		return true;
	ret = jp_trusted_find_file(value + 1, real_path, sizeof(real_path), &err);
	if (ret == -EINVAL)
		ret = (has_prefix(variable, "TMPDIR=") ? jp_trusted_find_folder
						       : jp_trusted_find_programs)(
			value + 1, real_path, sizeof(real_path), &err);
	if (!ret && has_prefix(variable, "JITPROOF_PEERS="))
		ret = check_peers_folder(value + 1, &err);
	if (ret == -EPERM)
		report_untrusted_entry(variable, "", &err);
	return ret != -EPERM;
}

/* Returns "PATH=" with the folders of @path from which programs may be taken. */
static char *filter_path(const char *path)
{
	jp_cleanup_free char *tail = strdup(path);
	char *filtered = malloc(sizeof("PATH=") + strlen(path)), *next = tail;
	size_t length = 0;

	if (!filtered || !tail) {
		free(filtered);
		return NULL;
	}
	strcpy(filtered, "PATH=");
	for (const char *folder; (folder = strsep(&next, ":"));)
		if (is_usable(folder))
			length += (size_t)sprintf(filtered + strlen("PATH=") + length, "%s%s",
						  length ? ":" : "", folder);
	if (!length) /* an empty PATH would mean the working directory */
		strcat(filtered, "/");
	return filtered;
}

char **jp_search_path_environment(void)
{
	static char **filtered;
	const char *path = getenv("PATH");
	size_t count = 0, nr_kept = 0;

	if (filtered || geteuid() || !path)
		return filtered ?: environ;
	while (environ[count])
		count++;
	filtered = calloc(count + 1, sizeof(*filtered));
	for (size_t i = 0; filtered && i < count; i++) {
		if (!is_trusted_variable(environ[i]))
			continue;
		filtered[nr_kept] = environ[i];
		if (has_prefix(environ[i], "PATH=") && !(filtered[nr_kept] = filter_path(path))) {
			free(filtered);
			filtered = NULL;
		}
		nr_kept++;
	}
	return filtered;
}
