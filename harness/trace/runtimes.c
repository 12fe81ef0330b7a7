// SPDX-License-Identifier: GPL-2.0-only
#include "harness/trace/runtimes.h"

#include <string.h>

#include "harness/base/built_in.h"

/* the files of harness/trace/runtimes/ */
extern const struct jp_built_in jp_runtime_files[];

/* Name of the file with the functions that all scripts use. */
static const char prelude[] = "prelude";

static const struct jp_built_in *find_file(const char *name)
{
	for (const struct jp_built_in *file = jp_runtime_files; file->name; file++)
		if (strcmp(file->name, name) == 0)
			return file;
	return NULL;
}

char *jp_runtime_script(const char *name)
{
	const struct jp_built_in *first = find_file(prelude), *file = find_file(name);
	char *script;

	if (!first || !file || file == first ||
	    asprintf(&script, "%.*s\n%.*s", (int)(first->end - first->start), first->start,
		     (int)(file->end - file->start), file->start) < 0)
		return NULL;
	return script;
}

void jp_runtimes_print(FILE *out)
{
	for (const struct jp_built_in *file = jp_runtime_files; file->name; file++)
		if (strcmp(file->name, prelude) != 0)
			fprintf(out, "%s\n", file->name);
}
