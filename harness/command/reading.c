// SPDX-License-Identifier: GPL-2.0-only
#include "harness/command/reading.h"

#include <elf.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/exits.h"
#include "harness/base/shortage.h"

bool jp_reading_harmless(const char *path, bool alone, const unsigned char *head, size_t size)
{
	Elf64_Ehdr elf;

	if (alone && (fnmatch("*/jit-*.dump", path, 0) == 0 ||
		      fnmatch("/tmp/perf-*.map", path, FNM_PATHNAME) == 0))
		return true;
	if (size < sizeof(elf))
		return false;
	memcpy(&elf, head, sizeof(elf));
	/* A core file has a process's memory. */
	return !memcmp(elf.e_ident, ELFMAG, SELFMAG) &&
	       (elf.e_type == ET_EXEC || elf.e_type == ET_DYN);
}

bool jp_reading_begins(const char *command, const char *input, const char *folder,
		       const char *other, int *status)
{
	const struct jp_confine confine = {
		.readable = {.input = input,
			     .folders = {folder, other},
			     .harmless = jp_reading_harmless},
	};
	struct jp_error err;
	int ret = jp_confine_enter(&confine, status, &err);

	if (ret < 0) {
		fprintf(stderr, "jitproof %s: %s\n", command, err.text);
		*status = JP_EXIT_BROKEN;
	}
	return ret;
}

int jp_reading_ends(const char *command, int status)
{
	char why[256] = "cannot write to standard output";

	if (!jp_shortage(why, sizeof(why)) && !fflush(stdout) && !ferror(stdout))
		return status;
	fprintf(stderr, "jitproof %s: %s\n", command, why);
	return JP_EXIT_BROKEN;
}
