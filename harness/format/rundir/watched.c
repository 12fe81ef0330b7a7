// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/rundir/watched.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/number.h"
#include "harness/base/path.h"

#define AT(member) offsetof(struct jp_watched_info, member)

/* Fields in the order of the file. */
static const struct watched_field {
	const char *key;
	size_t offset;
} fields[] = {
	{"started", AT(started)},
	{"begun", AT(sampling_since)},
	{"ending", AT(ending)},
	{"ended", AT(ended)},
	{"slack", AT(slack)},
	{"max_stack", AT(max_stack)},
	{"chain", AT(chain)},
	{"stack_dump", AT(stack_dump)},
	{"user_only", AT(user_only)},
	{"cpus", AT(cpus)},
	{"task_clock", AT(task_clock)},
	{"synth", AT(synth)},
	{"silent", AT(silent)},
	{"witness", AT(witness)},
	{"witness_since", AT(witness_since)},
};
/* Older files end before the field OLDEST, or before any field after OLD. */
enum { FIELDS = sizeof(fields) / sizeof(*fields), OLDEST = FIELDS - 6, OLD = FIELDS - 3 };

int jp_watched_write(const struct jp_watched_info *watched, const char *dir, struct jp_error *err)
{
	char path[4096];
	FILE *file;

	if (jp_path_build(path, sizeof(path), err, "%s/watched", dir))
		return -ENAMETOOLONG;
	file = jp_file_create(path, true, err);
	if (!file)
		return -EIO;
	for (size_t i = 0; i < FIELDS; i++)
		fprintf(file, "%s %" PRIu64 "\n", fields[i].key,
			*(const uint64_t *)((const char *)watched + fields[i].offset));
	return jp_file_finish(file, path, err);
}

int jp_watched_parse(struct jp_watched_info *watched, const char *name, char *text,
		     struct jp_error *err)
{
	char *next = NULL, *line = strtok_r(text, "\n", &next);

	for (size_t i = 0; i < FIELDS; i++, line = strtok_r(NULL, "\n", &next)) {
		size_t length = strlen(fields[i].key);

		/* Older files state the time that a host took from the CPUs. */
		if (line && i == OLD && strncmp(line, "stolen ", 7) == 0)
			line = strtok_r(NULL, "\n", &next);
		if (!line && (i == OLDEST || i >= OLD))
			break;
		if (!line || strncmp(line, fields[i].key, length) != 0 || line[length] != ' ' ||
		    !jp_number(line + length + 1, 0, UINT64_MAX,
			       (void *)((char *)watched + fields[i].offset)))
			return jp_fail(err, EINVAL, "%s:%zu: expected \"%s NUMBER\"", name, i + 1,
				       fields[i].key);
	}
	if (line)
		return jp_fail(err, EINVAL, "%s:%d: expected the end of the file", name,
			       FIELDS + 1);
	if (!watched->started || watched->started > watched->sampling_since ||
	    watched->sampling_since > watched->ending || watched->ending > watched->ended)
		return jp_fail(err, EINVAL, "%s: expected started <= begun <= ending <= ended",
			       name);
	if (watched->chain > 1 || watched->user_only > 1 || watched->task_clock > 1)
		return jp_fail(err, EINVAL,
			       "%s: expected 0 or 1 for chain, user_only and task_clock", name);
	if (watched->silent &&
	    (watched->silent < watched->ending || watched->silent > watched->ended))
		return jp_fail(err, EINVAL, "%s: expected ending <= silent <= ended", name);
	return 0;
}
