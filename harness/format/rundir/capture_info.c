// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/rundir/capture_info.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/number.h"
#include "harness/base/path.h"

enum kind { TEXT, NUMBER, FLAG };
enum { TEXT_SIZE = sizeof(((struct jp_capture_info *)NULL)->policy) };

const char *jp_synth_text(enum jp_synth synth)
{
	static const char *const synths[] = {
		[JP_SYNTH_NONE] = "none",
		[JP_SYNTH_PATHS] = "paths",
		[JP_SYNTH_EXEC] = "exec",
		[JP_SYNTH_ALL] = "all",
	};

	return synth <= JP_SYNTH_ALL ? synths[synth] : "?";
}

#define AT(member) offsetof(struct jp_capture_info, member)

/* Fields in the order of the file. */
static const struct field {
	const char *key;
	size_t offset;
	enum kind kind;
	bool is_required; /* the field must exist: without it, a loss would read as "nothing was
			     lost" */
} fields[] = {
	{"policy", AT(policy), TEXT, true},
	{"enabled", AT(enabled), NUMBER, true},
	{"sampling", AT(sampling), NUMBER, true},
	{"stopped", AT(stopped), NUMBER, true},
	{"slack", AT(slack), NUMBER, true},
	{"max_stack", AT(max_stack), NUMBER, true},
	{"stack_dump", AT(stack_dump), NUMBER, true},
	{"lost_sideband", AT(lost_sideband), NUMBER, true},
	{"lost_samples", AT(lost_samples), NUMBER, true},
	{"duplicates", AT(duplicates), NUMBER, true},
	{"breakpoints", AT(breakpoints), NUMBER, true},
	{"capture", AT(capture), TEXT, false},
	{"lacks", AT(lacks), TEXT, false},
	{"order", AT(order), TEXT, false},
	{"event", AT(event), TEXT, false},
	{"samples", AT(samples), NUMBER, false},
	{"first_enabled", AT(first_enabled), NUMBER, false},
	{"frequency_asked", AT(frequency_asked), NUMBER, false},
	{"frequency", AT(frequency), NUMBER, false},
	{"ring_sampling", AT(ring_sampling), NUMBER, false},
	{"ring_sideband", AT(ring_sideband), NUMBER, false},
	{"cpus", AT(cpus), NUMBER, false},
	{"threads", AT(threads), NUMBER, false},
	{"thread_passes", AT(thread_passes), NUMBER, false},
	{"settled", AT(settled), FLAG, true},
	{"snapshots", AT(snapshots), NUMBER, false},
	{"snapshot_readings", AT(snapshot_readings), NUMBER, false},
	{"snapshots_unstable", AT(snapshots_unstable), NUMBER, false},
	{"kernel", AT(kernel), FLAG, false},
	{"format_lost", AT(format_lost), FLAG, false},
	{"duplicates_sideband", AT(duplicates_sideband), NUMBER, false},
	{"breakpoints_hit", AT(breakpoints_hit), NUMBER, false},
	{"counted", AT(counted), NUMBER, false},
};
enum { FIELDS = sizeof(fields) / sizeof(*fields) };

static void write_field(FILE *file, const struct field *field, const struct jp_capture_info *info)
{
	const void *value = (const char *)info + field->offset;

	if (field->kind == TEXT && !*(const char *)value)
		return;
	fprintf(file, "%s ", field->key);
	if (field->kind == NUMBER)
		fprintf(file, "%" PRIu64 "\n", *(const uint64_t *)value);
	else if (field->kind == FLAG)
		fprintf(file, "%s\n", *(const bool *)value ? "yes" : "no");
	else
		fprintf(file, "%s\n", (const char *)value);
}

int jp_capture_info_write(const struct jp_capture_info *info, const char *dir, struct jp_error *err)
{
	char path[4096];
	FILE *file;

	if (jp_path_build(path, sizeof(path), err, "%s/capture", dir))
		return -ENAMETOOLONG;
	file = jp_file_create(path, true, err);
	if (!file)
		return -EIO;
	for (size_t i = 0; i < FIELDS; i++)
		write_field(file, &fields[i], info);
	return jp_file_finish(file, path, err);
}

/* Returns false if a number was expected. */
static bool set_field(const struct field *field, struct jp_capture_info *info, const char *text)
{
	void *value = (char *)info + field->offset;

	if (field->kind == TEXT) {
		snprintf(value, TEXT_SIZE, "%s", text);
	} else if (field->kind == FLAG) {
		*(bool *)value = strcmp(text, "yes") == 0;
	} else {
		return jp_number(text, 0, UINT64_MAX, value);
	}
	return true;
}

int jp_capture_info_parse(struct jp_capture_info *info, const char *name, char *text,
			  struct jp_error *err)
{
	bool has_field[FIELDS + 1] = {false};
	unsigned int number = 0;

	for (char *next = NULL, *line = strtok_r(text, "\n", &next); line;
	     line = strtok_r(NULL, "\n", &next)) {
		char *value = strchr(line, ' ');
		size_t i = 0;

		number++;
		if (!value)
			return jp_fail(err, EINVAL, "%s:%u: expected \"key value\", found \"%s\"",
				       name, number, line);
		*value++ = 0;
		while (i < FIELDS && strcmp(line, fields[i].key) != 0)
			i++;
		if (i == FIELDS)
			continue;
		if (has_field[i])
			return jp_fail(err, EINVAL, "%s:%u: a second \"%s\"", name, number, line);
		has_field[i] = true;
		if (!set_field(&fields[i], info, value))
			return jp_fail(err, EINVAL, "%s:%u: expected a number, found \"%s\"", name,
				       number, value);
	}
	for (size_t i = 0; i < FIELDS; i++)
		if (fields[i].is_required && !has_field[i])
			return jp_fail(err, EINVAL, "%s: expected a line \"%s\"", name,
				       fields[i].key);
	for (size_t i = FIELDS; i--;)
		if (!has_field[i] && fields[i].offset != AT(lacks))
			info->absent = fields[i].key;
	if (!info->enabled || info->enabled > info->sampling || info->sampling > info->stopped)
		return jp_fail(err, EINVAL,
			       "%s: expected enabled <= sampling <= stopped, found %" PRIu64
			       ", %" PRIu64 ", %" PRIu64,
			       name, info->enabled, info->sampling, info->stopped);
	return 0;
}
