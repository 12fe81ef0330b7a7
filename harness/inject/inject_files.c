// SPDX-License-Identifier: GPL-2.0-only
#include "harness/inject/inject_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/base/cleanup.h"
#include "harness/base/output_folder.h"
#include "harness/base/sort.h"

static int add_file(struct jp_inject_dumps *dumps, const struct jp_jit_elf *elf)
{
	struct jp_code_file *file =
		jp_array_push(&dumps->files, &dumps->nr_files, &dumps->files_capacity);

	if (!file)
		return -ENOMEM;
	*file = (struct jp_code_file){.maj = elf->maj, .min = elf->min, .ino = elf->ino};
	if (asprintf(&file->path, "%s/%s", jp_output_folder_path(), elf->name) < 0) {
		file->path = NULL;
		return -ENOMEM;
	}
	return 0;
}

JP_ORDER(compare_by_place, const struct jp_jit_function *,
	 jp_compare((*a)->file, (*b)->file) ?: jp_compare((*a)->offset, (*b)->offset));

/* Writes the ELF files with the functions @sorted, which are sorted by file and offset. */
static int write_sorted_functions(const struct jp_inject_code *code,
				  const struct jp_jit_function *const *sorted,
				  const struct jp_inject_read *reading, struct jp_error *err)
{
	struct jp_inject_dumps *dumps = code->dumps;
	uint64_t bad_frames = 0;
	size_t next;

	for (size_t i = 0; i < code->count; i = next) {
		uint32_t file = sorted[i]->file;
		struct jp_jit_elf elf;
		int ret;

		for (next = i; next < code->count && sorted[next]->file == file;)
			next++;
		ret = jp_jit_elf_write(dumps->markers[code->marker].pid, code->elf_mach, sorted + i,
				       next - i, file, &elf, err);
		if (!ret && add_file(dumps, &elf))
			ret = jp_fail(err, ENOMEM, "%s: out of memory", code->path);
		if (ret)
			return ret;
		bad_frames += elf.bad_frames;
		reading->summary->elf_files++;
		reading->summary->elf_bytes += elf.size;
		for (size_t j = i; j < next; j++) {
			struct jp_loaded_code *loaded =
				&dumps->codes[code->first_code + (sorted[j] - code->functions)];

			loaded->file = dumps->nr_files - 1;
			loaded->pgoff = sorted[j]->offset;
			/* If the file holds only this function, and the process has unwinding
			 * tables after the code, the mapping covers the tables too. */
			if (sorted[j]->tables && next - i == 1 &&
			    elf.mapped_end - loaded->pgoff <= loaded->size + sorted[j]->tables)
				loaded->tables = elf.mapped_end - loaded->pgoff - loaded->size;
		}
	}
	reading->summary->bad_records += bad_frames;
	if (bad_frames)
		jp_inject_report(reading,
				 "%s: UNWINDING_INFO of %" PRIu64 " functions cannot be used: "
				 "expected a pc-relative .eh_frame that lies right after the code",
				 code->path, bad_frames);
	return 0;
}

int jp_inject_write_files(const struct jp_inject_code *code, const struct jp_inject_read *reading,
			  struct jp_error *err)
{
	jp_cleanup_free const struct jp_jit_function **sorted = NULL;

	if (!code->count)
		return 0;
	sorted = malloc(code->count * sizeof(*sorted));
	if (!sorted || jp_jit_layout(code->functions, code->count) < 0)
		return jp_fail(err, ENOMEM, "%s: out of memory", code->path);
	for (size_t i = 0; i < code->count; i++)
		sorted[i] = &code->functions[i];
	jp_sort(sorted, code->count, compare_by_place);
	return write_sorted_functions(code, sorted, reading, err);
}
