// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/symbols/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/map.h"
#include "harness/base/text_pool.h"
#include "harness/format/elf/elf_file.h"
#include "harness/format/elf/elf_symbols.h"
#include "harness/model/files/file_finder.h"
#include "harness/model/space/mapping_name.h"

/* The symbols of one mapped file, from the places where perf searches. */
struct jp_symbol_file {
	int error;   /* 0, or the error of jp_file_find() */
	bool symtab; /* the file has a .symtab: it is not stripped */
	bool not_elf;
	bool broken; /* truncated, or its symbols are unreadable */
	struct jp_elf_symbols symbols;
};

/* The files that are open for one mapping: the first with symbols, and the file that ran. */
struct held {
	struct jp_found_file files[2];
	size_t count;
	const struct jp_found_file *symbols, *runtime; /* elements of @files, possibly the same */
};

static struct jp_elf_input make_input(const struct jp_found_file *file)
{
	return (struct jp_elf_input){file->fd, file->image, file->size};
}

/* Reads the debug link from the file itself into @link, and its build id if the capture has
 * none. */
static void read_links(struct jp_file_finder *finder, struct jp_wanted_file *wanted_file,
		       char *link, size_t size)
{
	struct jp_found_file file;
	struct jp_elf_input input;

	if (jp_file_find(finder, wanted_file, JP_FILE_ITSELF, &file, NULL))
		return;
	input = make_input(&file);
	if (jp_elf_debuglink(&input, link, size))
		wanted_file->link = link;
	if (!wanted_file->id.size &&
	    jp_elf_build_id(file.fd, file.image, file.size, &wanted_file->id, NULL))
		wanted_file->id.size = 0;
	jp_found_file_close(&file);
}

/* Keeps @file as the file with symbols, as the file that ran, or as both. Returns whether it was
 * kept. */
static bool keep_file(struct held *elf_files, const struct jp_found_file *file,
		      struct jp_elf_tables tables)
{
	const bool symbols = tables.symtab && !elf_files->symbols;
	const bool runtime = tables.dynsym && !elf_files->runtime;

	if (symbols)
		elf_files->symbols = file;
	if (runtime)
		elf_files->runtime = file;
	elf_files->count += symbols || runtime;
	return symbols || runtime;
}

/* Follows perf's dso__load() (tools/perf/util/symbol.c): the first file with a .symtab has the
 * symbols, the first file with a .dynsym is the runtime image. */
static void find_files(struct held *elf_files, struct jp_symbol_file *file,
		       struct jp_file_finder *finder, const struct jp_wanted_file *wanted_file)
{
	bool has_file = false;

	for (int place = 0;
	     place < JP_FILE_PLACES && !(elf_files->symbols && elf_files->runtime);) {
		struct jp_found_file *file_found = &elf_files->files[elf_files->count];
		struct jp_elf_input input;
		struct jp_elf_tables tables;

		file->error = jp_file_find(finder, wanted_file, place, file_found, NULL);
		if (file->error)
			break;
		has_file = true;
		place = file_found->place + 1;
		input = make_input(file_found);
		tables = jp_elf_tables(&input);
		file->not_elf = !tables.elf;
		file->broken = tables.cut_short;
		if (!keep_file(elf_files, file_found, tables))
			jp_found_file_close(file_found);
	}
	if (has_file)
		file->error = 0;
}

/* Loads the symbols of the recorded file @recorded_file into @file, which must be all zero.
 * @recorded_file->id is all zero if unknown. */
static void symbol_file_load(struct jp_symbol_file *file, struct jp_file_finder *finder,
			     const struct jp_wanted_file *recorded_file)
{
	struct jp_wanted_file wanted_file = *recorded_file;
	struct jp_elf_input symbols, runtime;
	struct held elf_files = {0};
	char link[256];

	read_links(finder, &wanted_file, link, sizeof(link));
	find_files(&elf_files, file, finder, &wanted_file);
	if (elf_files.count) {
		symbols = make_input(elf_files.symbols ?: elf_files.runtime);
		runtime = make_input(elf_files.runtime ?: elf_files.symbols);
		file->symtab = elf_files.symbols;
		file->not_elf = false;
		file->broken = jp_elf_symbols(&symbols, &runtime, &file->symbols, NULL);
	}
	for (size_t i = 0; i < elf_files.count; i++)
		jp_found_file_close(&elf_files.files[i]);
}

/* MAP_HUGETLB in mapping records: perf considers such mappings anonymous whatever their name. */
#define HUGETLB 0x40000

const char *const jp_name_source_text[JP_NAME_SOURCES] = {
	[JP_NAME_ELF] = "elf",
	[JP_NAME_JITDUMP] = "jitdump",
	[JP_NAME_MAP] = "map",
	[JP_NAME_NO_MAPPING] = "no-mapping",
	[JP_NAME_NOT_ANONYMOUS] = "not-anonymous",
	[JP_NAME_NO_MAP] = "no-map",
	[JP_NAME_BAD_MAP] = "bad-map",
	[JP_NAME_NOT_IN_MAP] = "not-in-map",
	[JP_NAME_OVERLAPPED] = "overlapped",
	[JP_NAME_NO_ELF] = "not-elf",
	[JP_NAME_NO_FILE] = "missing-file",
	[JP_NAME_OTHER_FILE] = "other-file",
	[JP_NAME_BAD_FILE] = "bad-file",
	[JP_NAME_STRIPPED] = "stripped",
	[JP_NAME_NO_SYMBOL] = "no-symbol",
};

/* A file that mapping records name; @next has the same path. */
struct named_file {
	struct named_file *next;
	struct jp_build_id id;
	uint32_t residence; /* jp_file_finder_residence() of the process that mapped it */
	bool injected;
	struct jp_symbol_file file;
};

struct named_process {
	struct jp_perf_map *map;
	int map_error; /* 0, or the error of jp_file_find_map() */
};

struct jp_names {
	struct jp_file_finder *finder;
	struct jp_text_pool paths; /* path -> list of struct named_file */
	struct jp_map processes;   /* pid -> struct named_process */
};

struct jp_names *jp_names_new(struct jp_file_finder *finder)
{
	struct jp_names *names = calloc(1, sizeof(*names));

	if (names)
		names->finder = finder;
	return names;
}

void jp_names_free(struct jp_names *names)
{
	const struct named_process *process;

	if (!names)
		return;
	for (struct jp_text *path = names->paths.first; path; path = path->next) {
		for (struct named_file *next, *file = path->value; file; file = next) {
			next = file->next;
			jp_elf_symbols_free(&file->file.symbols);
			free(file);
		}
	}
	jp_text_pool_free(&names->paths);
	for (size_t cursor = 0; (process = jp_map_next(&names->processes, &cursor, NULL));)
		jp_perf_map_free(process->map);
	jp_map_free(&names->processes);
	free(names);
}

static struct named_file *load_file(struct jp_names *names, struct jp_text *path,
				    const struct jp_build_id *id, uint32_t pid, uint32_t residence)
{
	const struct jp_wanted_file wanted_file = {.path = path->bytes, .id = *id, .pid = pid};
	struct named_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	*file = (struct named_file){.next = path->value, .id = *id, .residence = residence};
	path->value = file;
	file->injected = jp_file_finder_injected(names->finder, path->bytes);
	symbol_file_load(&file->file, names->finder, &wanted_file);
	return file;
}

/* Returns the file of @mapping, loaded once, or NULL if there is no memory. */
static const struct named_file *find_file(struct jp_names *names, const struct jp_mapping *mapping)
{
	const uint32_t residence = jp_file_finder_residence(names->finder, mapping->pid);
	struct jp_text *path = jp_text_keep(&names->paths, mapping->name, strlen(mapping->name));
	const struct jp_build_id *headed;
	struct jp_build_id id = {0};

	if (!path)
		return NULL;
	if (mapping->build_id && mapping->build_id_size <= sizeof(id.bytes)) {
		id.size = mapping->build_id_size;
		memcpy(id.bytes, mapping->build_id, id.size);
	} else if ((headed = jp_file_finder_build_id(names->finder, mapping->name))) {
		id = *headed;
	}
	for (struct named_file *file = path->value; file; file = file->next)
		if (file->residence == residence && file->id.size == id.size &&
		    memcmp(file->id.bytes, id.bytes, id.size) == 0)
			return file;
	return load_file(names, path, &id, mapping->pid, residence);
}

static enum jp_name_source classify_missing_map(int missing)
{
	switch (missing) {
	case -ENOENT:
	case -ENOTDIR:
		return JP_NAME_NO_FILE;
	case -ESTALE:
	case -ENODATA:
		return JP_NAME_OTHER_FILE;
	default:
		return JP_NAME_BAD_FILE;
	}
}

static struct jp_name find_in_file(const struct named_file *named, const struct jp_mapping *mapping,
				   uint64_t addr)
{
	/* A mapping record of the vDSO has its address as file offset, which perf ignores. */
	const uint64_t pgoff = *mapping->name == '[' ? 0 : mapping->pgoff;
	const struct jp_symbol_file *file = &named->file;
	const struct jp_elf_symbol *symbol;

	if (file->error)
		return (struct jp_name){.source = classify_missing_map(file->error)};
	if (file->not_elf)
		return (struct jp_name){.source = JP_NAME_NO_ELF};
	if (file->broken)
		return (struct jp_name){.source = JP_NAME_BAD_FILE};
	symbol = jp_elf_symbols_find(&file->symbols, addr - mapping->start + pgoff);
	if (symbol)
		return (struct jp_name){symbol->name,
					named->injected ? JP_NAME_JITDUMP : JP_NAME_ELF,
					symbol->first_version};
	return (struct jp_name){.source = file->symtab ? JP_NAME_NO_SYMBOL : JP_NAME_STRIPPED};
}

static const struct named_process *find_process(struct jp_names *names, uint32_t pid)
{
	struct named_process *process = jp_map_find(&names->processes, pid);
	struct jp_found_file file;

	if (process)
		return process;
	process = jp_map_at(&names->processes, pid, sizeof(*process));
	if (!process)
		return NULL;
	process->map_error = jp_file_find_map(names->finder, pid, &file);
	if (process->map_error)
		return process;
	process->map = jp_perf_map_read(file.fd, file.path, file.size, NULL);
	process->map_error = process->map ? 0 : -EINVAL;
	jp_found_file_close(&file);
	return process;
}

const struct jp_perf_map *jp_names_map(struct jp_names *names, uint32_t pid, int *missing)
{
	const struct named_process *process = find_process(names, pid);

	if (missing)
		*missing = process ? process->map_error : -ENOMEM;
	return process ? process->map : NULL;
}

static struct jp_name find_in_map(struct jp_names *names, uint32_t pid, uint64_t addr)
{
	const struct named_process *process = find_process(names, pid);
	struct jp_name name = {.source = JP_NAME_MAP};

	if (!process || !process->map) {
		name.source =
			process && process->map_error != -ENOENT ? JP_NAME_BAD_MAP : JP_NAME_NO_MAP;
		return name;
	}
	name.text = jp_perf_map_find(process->map, addr);
	if (!name.text)
		name.source = jp_perf_map_covers(process->map, addr) ? JP_NAME_OVERLAPPED
								     : JP_NAME_NOT_IN_MAP;
	return name;
}

/* Returns whether perf considers @mapping anonymous and reads names from the perf map:
 * is_anon_memory() and is_no_dso_memory() (tools/perf/util/map.c), 5.10 to 7.3. */
static bool is_anonymous(const struct jp_mapping *mapping)
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

static bool has_no_file(const struct jp_mapping *mapping)
{
	return mapping->backing == JP_BACKING_FILE
		       ? *mapping->name != '/' && strcmp(mapping->name, "[vdso]") != 0
		       : mapping->backing != JP_BACKING_SHM;
}

bool jp_names_injected(struct jp_names *names, const struct jp_mapping *mapping)
{
	const struct named_file *file;

	if (is_anonymous(mapping) || has_no_file(mapping))
		return false;
	file = find_file(names, mapping);
	return file && file->injected && !file->file.error;
}

struct jp_name jp_names_find(struct jp_names *names, const struct jp_mapping *mapping,
			     uint64_t addr)
{
	const struct named_file *file;
	struct jp_name name;
	uint32_t pid;

	if (!mapping)
		return (struct jp_name){.source = JP_NAME_NO_MAPPING};
	/* perf takes the map that inject -B recorded for a file, and looks up the offset in it. */
	if (jp_mapping_is_perf_map(mapping->name, &pid))
		return find_in_map(names, pid, addr - mapping->start + mapping->pgoff);
	if (is_anonymous(mapping))
		/* perf chooses the perf map when it reads the record: a child uses its parent's. */
		return find_in_map(names, mapping->pid, addr);
	if (has_no_file(mapping))
		return (struct jp_name){.source = JP_NAME_NOT_ANONYMOUS};
	file = find_file(names, mapping);
	if (!file)
		return (struct jp_name){.source = JP_NAME_NO_FILE};
	name = find_in_file(file, mapping, addr);
	/* A missing file is no error in a run directory, which contains only perf maps and files of
	 * inject. */
	if (name.source == JP_NAME_NO_FILE &&
	    (mapping->backing != JP_BACKING_FILE || jp_file_finder_is_of_run(names->finder)))
		name.source = JP_NAME_NOT_ANONYMOUS;
	return name;
}
