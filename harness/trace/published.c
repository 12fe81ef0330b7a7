// SPDX-License-Identifier: GPL-2.0-only
#include "harness/trace/published.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/number.h"
#include "harness/base/own_machine.h"
#include "harness/base/untrusted_file.h"
#include "harness/lint/code.h"
#include "harness/model/space/mapping_name.h"

/* Converts @monotonic (CLOCK_MONOTONIC, ns) to a time of CLOCK_REALTIME in s, which is up to 2 s
 * too early but never too late. Returns 0 for 0. */
static int64_t convert_time(uint64_t monotonic)
{
	return monotonic ? (int64_t)time(NULL) -
				   (int64_t)((jp_clock_now() - monotonic) / 1000000000) - 1
			 : 0;
}

static bool is_older(const char *path, int64_t since)
{
	struct stat file;

	return !stat(path, &file) && file.st_mtime < since;
}

static struct jp_perf_map *read_map(const struct jp_published_files *published, const char *path)
{
	uint64_t size;
	jp_cleanup_close int fd = jp_untrusted_open(path, published->process.user, &size, NULL);

	return fd < 0 || is_older(path, published->since) ? NULL
							  : jp_perf_map_read(fd, path, size, NULL);
}

static int read_dumps(struct jp_published_files *published, struct jp_error *err)
{
	const struct jp_lint_process *process = &published->process;
	jp_cleanup_free char **dumps = calloc(process->nr_dumps + 1, sizeof(char *));
	size_t count = 0;

	if (!dumps)
		return jp_fail(err, ENOMEM, "process %u: out of memory", process->pid);
	for (size_t i = 0; i < process->nr_dumps; i++)
		if (!is_older(process->dumps[i], published->since))
			dumps[count++] = process->dumps[i];
	return jp_code_loads_read_files(dumps, count, process->user, &published->loads, err);
}

/* Reads the files at the paths in published->process. */
static int read_files(struct jp_published_files *published, struct jp_error *err)
{
	const struct jp_lint_process *process = &published->process;
	char usual[32]; /* some runtimes write the perf map only when they exit */
	int failed = read_dumps(published, err);

	if (failed)
		return failed;
	published->has_dump = published->loads.count;
	published->cfi = jp_jit_cfi_new(&published->loads, jp_get_own_machine());
	published->maps = calloc(process->nr_perf_maps + 1, sizeof(struct jp_perf_map *));
	if (!published->cfi || !published->maps)
		return jp_fail(err, ENOMEM, "process %u: out of memory", process->pid);
	snprintf(usual, sizeof(usual), "/tmp/perf-%u.map", process->own_pid);
	for (size_t i = 0; i <= process->nr_perf_maps; i++) {
		published->maps[i] = read_map(
			published, i < process->nr_perf_maps ? process->perf_maps[i] : usual);
		published->has_map |= published->maps[i] != NULL;
	}
	return 0;
}

static void free_files(struct jp_published_files *published)
{
	for (size_t i = 0; published->maps && i <= published->process.nr_perf_maps; i++)
		jp_perf_map_free(published->maps[i]);
	free(published->maps);
	jp_jit_cfi_free(published->cfi);
	jp_code_loads_free(&published->loads);
	published->maps = NULL;
	published->cfi = NULL;
	published->has_map = published->has_dump = false;
}

uint64_t jp_published_read_marker(uint32_t prot, const char *name)
{
	static const char start[] = "/jit-";
	const char *pos = strrchr(name, '/');
	uint64_t pid;

	if (!pos || !(prot & JP_PROT_EXEC) || strncmp(pos, start, strlen(start)) != 0)
		return 0;
	pos += strlen(start);
	return jp_number_take(&pos, 10, INT32_MAX, &pid) && strcmp(pos, ".dump") == 0 ? pid : 0;
}

int jp_published_read(uint32_t pid, uint64_t launched, struct jp_published_files *published,
		      struct jp_error *err)
{
	int failed;

	memset(published, 0, sizeof(*published));
	published->since = convert_time(launched);
	failed = jp_lint_process_read(pid, &published->process, err);
	for (size_t i = 0; i < published->process.nr_maps; i++) {
		const struct jp_procmap *map = &published->process.maps[i];

		published->has_marker |= jp_published_read_marker(map->prot, map->name) ==
					 published->process.own_pid;
	}
	return failed ?: read_files(published, err);
}

int jp_published_read_again(struct jp_published_files *published, struct jp_error *err)
{
	free_files(published);
	return read_files(published, err);
}

struct newest {
	uint64_t addr;
	/* @line: number of the last line so far; @offset: number of the line with @name. */
	size_t line, offset;
	const char *name;
};

static void keep_newest_name(void *context, uint64_t start, uint64_t size, const char *name)
{
	struct newest *newest = context;

	newest->line++;
	if (newest->addr >= start && newest->addr - start < size) {
		newest->name = name;
		newest->offset = newest->line;
	}
}

void jp_published_in_map(const struct jp_published_files *published, uint64_t addr,
			 struct jp_published_name *name)
{
	struct newest newest = {.addr = addr};

	*name = (struct jp_published_name){0};
	for (size_t i = 0; i <= published->process.nr_perf_maps && !name->name; i++) {
		const struct jp_perf_map *map = published->maps[i];

		if (!map || !(name->name = jp_perf_map_find(map, addr)))
			continue;
		jp_perf_map_visit_lines(map, keep_newest_name, &newest);
		name->newest = newest.name ?: name->name;
		name->entry = newest.offset;
	}
}

void jp_published_in_dump(const struct jp_published_files *published, uint64_t addr,
			  struct jp_published_name *name)
{
	const uint32_t pid = published->process.own_pid;
	const struct jp_code_load *load = jp_jit_cfi_at(published->cfi, pid, addr, UINT64_MAX),
				  *newest = load;

	*name = (struct jp_published_name){0};
	if (!load)
		return;
	for (size_t i = 0; i < published->loads.count; i++) {
		const struct jp_code_load *one = &published->loads.loads[i];

		if (one->pid == pid && addr >= one->addr && addr - one->addr < one->size &&
		    one->order > newest->order)
			newest = one;
	}
	*name = (struct jp_published_name){load->name, newest->name, newest->order + 1, load};
}

bool jp_published_is_emitted(const struct jp_published_files *published, uint64_t addr)
{
	const struct jp_procmap *map = jp_lint_find_mapping(&published->process, addr);

	return map && map->prot & JP_PROT_EXEC && jp_mapping_backing(map->name) != JP_BACKING_FILE;
}

void jp_published_free(struct jp_published_files *published)
{
	free_files(published);
	jp_lint_process_free(&published->process);
}
