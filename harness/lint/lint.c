// SPDX-License-Identifier: GPL-2.0-only
#include "harness/lint/lint.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/array.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/number.h"
#include "harness/base/untrusted_file.h"
#include "harness/lint/jitdump.h"
#include "harness/lint/perf_map.h"

/* Returns the number in a file name that consists of @prefix, a number and @suffix, as perf parses
 * it; -1: another name. */
static int64_t parse_numbered_name(const char *path, const char *prefix, const char *suffix)
{
	const char *slash = strrchr(path, '/'), *pos = slash ? slash + 1 : path;
	uint64_t number;

	if (strncmp(pos, prefix, strlen(prefix)) != 0)
		return -1;
	pos += strlen(prefix);
	if (!jp_number_take(&pos, 10, INT32_MAX, &number) || strcmp(pos, suffix) != 0)
		return -1;
	return (int64_t)number;
}

/* Reads the status and the first bytes of @file. Returns the number of bytes, or -errno and a
 * message. */
static ssize_t read_head(struct jp_lint_file *file, struct jp_jitdump_header *header,
			 struct jp_error *err)
{
	uint64_t size, realtime = jp_clock_ns(CLOCK_REALTIME), changed;
	jp_cleanup_close int fd = jp_untrusted_open(file->path, -1, &size, err);
	ssize_t nr_read;

	if (fd < 0)
		return fd;
	if (fstat(fd, &file->status))
		return jp_fail(err, errno, "%s: %s", file->path, strerror(errno));
	nr_read = pread(fd, header, sizeof(*header), 0);
	if (nr_read < 0)
		return jp_fail(err, errno, "%s: %s", file->path, strerror(errno));
	file->now = jp_clock_now();
	changed = (uint64_t)file->status.st_mtim.tv_sec * JP_NS_PER_S +
		  (uint64_t)file->status.st_mtim.tv_nsec;
	/* Only a change since this boot can be expressed in CLOCK_MONOTONIC. */
	if (changed <= realtime && realtime - changed < file->now)
		file->change_time = file->now - (realtime - changed);
	return nr_read;
}

static int add_published_range(struct jp_lint_process *process, uint64_t start, uint64_t size)
{
	struct jp_lint_range *range = jp_array_push(
		&process->published_ranges, &process->nr_published, &process->published_capacity);

	if (!range)
		return -ENOMEM;
	range->start = start;
	range->end = start + size < start ? UINT64_MAX : start + size;
	return 0;
}

static void apply_to_dump(const struct jp_lint_rule *rule, const struct jp_lint_dump *dump,
			  struct jp_lint_findings *findings)
{
	if (rule->dump)
		rule->dump(dump, findings);
	if (rule->file)
		rule->file(&dump->file, findings);
	for (size_t i = 0; rule->each_name && i < dump->count; i++)
		if (dump->records[i].type == JP_JITDUMP_LOAD)
			rule->each_name(findings, dump->records[i].offset,
					dump->records[i].load.name);
}

static void apply_to_map(const struct jp_lint_rule *rule, const struct jp_lint_map *map,
			 struct jp_lint_findings *findings)
{
	if (rule->map)
		rule->map(map, findings);
	if (rule->file)
		rule->file(&map->file, findings);
	for (size_t i = 0; rule->each_name && i < map->count; i++)
		rule->each_name(findings, map->lines[i].number, map->lines[i].name);
}

static int check_dump(struct jp_lint_dump *dump, struct jp_lint_process *process,
		      struct jp_lint_findings *findings, struct jp_error *err)
{
	const struct jp_lint_rule *rule = NULL;
	int ret = jp_lint_dump_read(dump, err);

	findings->entries = dump->count + dump->nr_bad;
	while (!ret && (rule = jp_registry_next(JP_LINT_RULE, rule)))
		if ((rule->dump || rule->file || rule->each_name) &&
		    jp_lint_begin_rule(findings, rule))
			apply_to_dump(rule, dump, findings);
	for (size_t i = 0; !ret && process && i < dump->count; i++) {
		const struct jp_jitdump_record *record = &dump->records[i];

		if (record->type == JP_JITDUMP_LOAD)
			ret = add_published_range(process, record->load.addr, record->load.size);
		else if (record->type == JP_JITDUMP_MOVE)
			ret = add_published_range(process, record->move.new_addr,
						  record->move.size);
	}
	return ret;
}

static int check_map(struct jp_lint_map *map, struct jp_lint_process *process,
		     struct jp_lint_findings *findings, struct jp_error *err)
{
	const struct jp_lint_rule *rule = NULL;
	int ret = jp_lint_map_read(map, err);

	findings->entries = map->count + map->nr_bad_lines;
	while (!ret && (rule = jp_registry_next(JP_LINT_RULE, rule)))
		if ((rule->map || rule->file || rule->each_name) &&
		    jp_lint_begin_rule(findings, rule))
			apply_to_map(rule, map, findings);
	for (size_t i = 0; !ret && process && i < map->count; i++)
		ret = add_published_range(process, map->lines[i].start, map->lines[i].size);
	return ret;
}

/* Returns whether the text can be a perf map: it is empty or begins with a hexadecimal digit. */
static bool is_like_map(const struct jp_jitdump_header *header, ssize_t size)
{
	const char *text = (const char *)header;

	return !size || (text[0] >= '0' && text[0] <= '9') || (text[0] >= 'a' && text[0] <= 'f');
}

int jp_lint_file(const char *path, struct jp_lint_process *process,
		 struct jp_lint_findings *findings, struct jp_error *err)
{
	struct jp_lint_file file = {.path = path, .named_pid = -1, .process = process};
	struct jp_lint_dump dump = {0};
	struct jp_lint_map map = {0};
	struct jp_jitdump_header header = {0};
	ssize_t size = read_head(&file, &header, err);
	int ret;

	if (size < 0)
		return (int)size;
	if (header.magic == JP_JITDUMP_MAGIC) {
		findings->kind = "jitdump";
		dump.file = file;
		dump.file.named_pid = parse_numbered_name(path, "jit-", ".dump");
		ret = check_dump(&dump, process, findings, err);
		jp_lint_dump_free(&dump);
	} else if (header.magic == __builtin_bswap32(JP_JITDUMP_MAGIC)) {
		return jp_fail(err, ENOTSUP,
			       "%s: offset 0: a jitdump of the other byte order; expected this "
			       "machine's",
			       path);
	} else if (parse_numbered_name(path, "jit-", ".dump") >= 0) {
		return jp_fail(err, EINVAL, "%s: offset 0: expected a jitdump's header; %s", path,
			       size < (ssize_t)sizeof(header) ? "the file ends before its end"
							      : "its magic is missing");
	} else if (parse_numbered_name(path, "perf-", ".map") >= 0 || is_like_map(&header, size)) {
		findings->kind = "perf map";
		map.file = file;
		map.file.named_pid = parse_numbered_name(path, "perf-", ".map");
		ret = check_map(&map, process, findings, err);
		jp_lint_map_free(&map);
	} else {
		return jp_fail(err, EINVAL, "%s: offset 0: expected a jitdump or a perf map", path);
	}
	if (!ret && findings->failed)
		ret = findings->failed;
	if (ret && !*err->text)
		jp_fail(err, -ret, "%s: out of memory", path);
	return ret;
}
