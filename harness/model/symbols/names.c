// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/symbols/names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/map.h"
#include "harness/base/path.h"
#include "harness/base/search.h"
#include "harness/base/text_pool.h"
#include "harness/base/untrusted_file.h"
#include "harness/format/elf/elf_file.h"
#include "harness/format/jit/perf_map.h"

/* MAP_HUGETLB, as records hold it: perf takes such mappings for anonymous whatever their name. */
#define HUGETLB 0x40000

struct elf {
	struct jp_elf_symbols symbols;
	bool ours; /* the run directory has a file of that name */
	bool good;
};

struct named_process {
	struct jp_perf_map *map; /* NULL: none */
};

struct jp_names {
	char *dir;
	struct jp_text_pool recorded; /* names of files; value: struct elf */
	const struct jp_text *last;   /* looked up */
	struct jp_map processes;      /* pid -> struct named_process */
};

struct jp_names *jp_names_open(const char *dir, struct jp_error *err)
{
	struct jp_names *names = calloc(1, sizeof(*names));

	if (names)
		names->dir = strdup(dir);
	if (!names || !names->dir) {
		jp_names_free(names);
		jp_fail(err, ENOMEM, "%s: no memory for names", dir);
		return NULL;
	}
	return names;
}

void jp_names_free(struct jp_names *names)
{
	const struct named_process *process;

	if (!names)
		return;
	for (struct jp_text *name = names->recorded.first; name; name = name->next) {
		struct elf *elf = name->value;

		if (elf)
			jp_elf_symbols_free(&elf->symbols);
		free(elf);
	}
	jp_text_pool_free(&names->recorded);
	for (size_t at = 0; (process = jp_map_next(&names->processes, &at, NULL));)
		jp_perf_map_free(process->map);
	jp_map_free(&names->processes);
	free(names->dir);
	free(names);
}

/* Inject's files lie in jit/, perf's own beside the jitdump. The record's folder is of no use: the
 * run directory may have moved. */
static void load_elf(const struct jp_names *names, const char *name, struct elf *elf)
{
	static const char *const prefixes[] = {"jit/", ""};
	const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;

	for (size_t i = 0; !elf->ours && i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		char path[4096];
		uint64_t size;
		int fd;

		if (!*base || (!*prefixes[i] && strncmp(base, "jitted-", 7) != 0))
			continue;
		if (jp_path_build(path, sizeof(path), NULL, "%s/%s%s", names->dir, prefixes[i],
				  base))
			return;
		fd = jp_untrusted_open(path, -1, &size, NULL);
		if (fd < 0)
			continue;
		elf->ours = true;
		elf->good = !jp_elf_symbols(fd, &elf->symbols, NULL);
		close(fd);
	}
}

/* The file behind @name, opened once; NULL: no memory. */
static const struct elf *elf_of(struct jp_names *names, const char *name)
{
	struct jp_text *recorded;
	struct elf *elf;

	if (names->last && strcmp(names->last->bytes, name) == 0)
		return names->last->value;
	recorded = jp_text_keep(&names->recorded, name, strlen(name));
	if (!recorded)
		return NULL;
	if (!recorded->value) {
		recorded->value = elf = calloc(1, sizeof(*elf));
		if (!elf)
			return NULL;
		load_elf(names, name, elf);
	}
	names->last = recorded;
	return recorded->value;
}

/* The last symbol that starts at or below @offset and reaches over it. */
static const char *symbol_at(const struct jp_elf_symbols *symbols, uint64_t offset)
{
	size_t i;

	jp_search(i, symbols->count, symbols->symbols[i].offset <= offset);
	if (!i || offset - symbols->symbols[i - 1].offset >= symbols->symbols[i - 1].size)
		return NULL;
	return symbols->symbols[i - 1].name;
}

static const struct named_process *process_of(struct jp_names *names, uint32_t pid)
{
	struct named_process *process = jp_map_find(&names->processes, pid);
	char path[4096];

	if (process)
		return process;
	process = jp_map_at(&names->processes, pid, sizeof(*process));
	if (process &&
	    !jp_path_build(path, sizeof(path), NULL, "%s/perf-%" PRIu32 ".map", names->dir, pid))
		process->map = jp_perf_map_load(path, -1, NULL);
	return process;
}

/* perf's is_anon_memory() and is_no_dso_memory() (tools/perf/util/map.c), 5.10 to 7.3. */
static bool anonymous(const struct jp_mapping *mapping)
{
	static const char *const prefixes[] = {"/dev/zero", "/anon_hugepage", "[stack", "/SYSV"};

	if (!(mapping->prot & JP_PROT_EXEC))
		return false;
	if (mapping->flags & HUGETLB || strcmp(mapping->name, "//anon") == 0 ||
	    strcmp(mapping->name, "[heap]") == 0)
		return true;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(mapping->name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

static const char *find_in_map(struct jp_names *names, uint32_t pid, uint64_t addr,
			       const char **why)
{
	const struct named_process *process = process_of(names, pid);
	const char *name = process && process->map ? jp_perf_map_find(process->map, addr) : NULL;

	*why = name                                     ? "map"
	       : !process || !process->map              ? "no-map"
	       : jp_perf_map_covers(process->map, addr) ? "overlapped"
							: "no-symbol";
	return name;
}

bool jp_names_injected(struct jp_names *names, const char *mapping)
{
	const struct elf *elf = elf_of(names, mapping);

	return elf && elf->ours;
}

const char *jp_names_find(struct jp_names *names, const struct jp_mapping *mapping, uint64_t addr,
			  const char **why)
{
	const struct elf *elf;
	const char *name = NULL;

	*why = "no-mapping";
	if (!mapping)
		return NULL;
	if (anonymous(mapping))
		/* perf names the map when it meets the record: a child has its parent's. */
		return find_in_map(names, mapping->pid, addr, why);
	*why = "not-anonymous";
	elf = elf_of(names, mapping->name);
	if (!elf || !elf->ours)
		return NULL;
	if (elf->good)
		name = symbol_at(&elf->symbols, addr - mapping->start + mapping->pgoff);
	*why = !elf->good ? "no-elf" : name ? "elf" : "no-symbol";
	return name;
}
