// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/symbols/symbol_file.h"

#include "harness/format/elf/elf_file.h"

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

void jp_symbol_file_load(struct jp_symbol_file *file, struct jp_file_finder *finder,
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
