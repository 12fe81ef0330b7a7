// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/symbols/names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/format/elf/elf_file.h"
#include "harness/base/untrusted_file.h"
#include "harness/format/jit/perf_map.h"

/* MAP_HUGETLB, as records hold it: perf takes such mappings for anonymous whatever their name. */
#define HUGETLB 0x40000

enum { BUCKETS = 1024 };

struct elf {
	struct elf *next;
	struct jp_elf_symbols symbols;
	bool ours; /* the run directory has a file of that name */
	bool good;
	char name[]; /* as recorded */
};

struct process {
	struct process *next;
	uint32_t pid;
	struct jp_perf_map *map; /* NULL: none */
};

struct jp_names {
	char *dir;
	struct elf *elfs[BUCKETS], *last;
	struct process *processes;
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
	if (!names)
		return;
	for (size_t i = 0; i < BUCKETS; i++) {
		for (struct elf *next, *elf = names->elfs[i]; elf; elf = next) {
			next = elf->next;
			jp_elf_symbols_free(&elf->symbols);
			free(elf);
		}
	}
	for (struct process *next, *process = names->processes; process; process = next) {
		next = process->next;
		jp_perf_map_free(process->map);
		free(process);
	}
	free(names->dir);
	free(names);
}

/* Inject's files lie in jit/, perf's own beside the jitdump. What the record says of folders is of
 * the machine that recorded; the run directory may be another place by now. */
static void load_elf(const struct jp_names *names, struct elf *elf)
{
	static const char *const prefixes[] = {"jit/", ""};
	const char *slash = strrchr(elf->name, '/'), *base = slash ? slash + 1 : elf->name;

	for (size_t i = 0; !elf->ours && i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		char path[4096];
		uint64_t size;
		int fd;

		if (!*base || (!*prefixes[i] && strncmp(base, "jitted-", 7) != 0))
			continue;
		if ((size_t)snprintf(path, sizeof(path), "%s/%s%s", names->dir, prefixes[i],
				     base) >= sizeof(path))
			return;
		fd = jp_untrusted_open(path, -1, &size, NULL);
		if (fd < 0)
			continue;
		elf->ours = true;
		elf->good = !jp_elf_symbols(fd, &elf->symbols, NULL);
		close(fd);
	}
}

/* The file behind @name, looked for once; NULL: no memory. */
static struct elf *elf_of(struct jp_names *names, const char *name)
{
	uint32_t hash = 2166136261u;
	struct elf *elf = names->last;

	if (elf && strcmp(elf->name, name) == 0)
		return elf;
	for (const char *c = name; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 16777619u;
	for (elf = names->elfs[hash % BUCKETS]; elf; elf = elf->next)
		if (strcmp(elf->name, name) == 0)
			return names->last = elf;
	elf = calloc(1, sizeof(*elf) + strlen(name) + 1);
	if (!elf)
		return NULL;
	strcpy(elf->name, name);
	load_elf(names, elf);
	elf->next = names->elfs[hash % BUCKETS];
	names->elfs[hash % BUCKETS] = elf;
	return names->last = elf;
}

/* The last symbol that starts at or below @offset and reaches over it. */
static const char *symbol_at(const struct jp_elf_symbols *symbols, uint64_t offset)
{
	size_t low = 0, high = symbols->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->symbols[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || offset - symbols->symbols[low - 1].offset >= symbols->symbols[low - 1].size)
		return NULL;
	return symbols->symbols[low - 1].name;
}

static struct process *process_of(struct jp_names *names, uint32_t pid)
{
	struct process *process;
	char path[4096];

	for (process = names->processes; process; process = process->next)
		if (process->pid == pid)
			return process;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	if ((size_t)snprintf(path, sizeof(path), "%s/perf-%" PRIu32 ".map", names->dir, pid) <
	    sizeof(path))
		process->map = jp_perf_map_load(path, -1, NULL);
	process->next = names->processes;
	names->processes = process;
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
	const struct process *process = process_of(names, pid);
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
