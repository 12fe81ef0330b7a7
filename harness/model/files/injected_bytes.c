// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/files/injected_bytes.h"

#include <elf.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/order.h"

static bool file_holds(int fd, uint64_t offset, const unsigned char *bytes, uint64_t size)
{
	unsigned char piece[4096];

	for (uint64_t compared = 0; compared < size;) {
		const uint64_t piece_size = jp_min(size - compared, sizeof(piece));

		if (offset > (uint64_t)INT64_MAX - size ||
		    jp_file_read_at(fd, "injected", piece, piece_size, offset + compared, NULL) ||
		    memcmp(piece, bytes + compared, piece_size) != 0)
			return false;
		compared += piece_size;
	}
	return true;
}

/* Returns whether the file contains @load's .eh_frame where @record maps it: after the code, at a
 * multiple of 8. Ignores the zeros that terminate and pad it. The file's .eh_frame_hdr is
 * elsewhere. */
static bool has_tables(int fd, const struct jp_event *record, const struct jp_code_load *load)
{
	const uint64_t behind = (load->size + 7) & ~UINT64_C(7);
	uint64_t size = load->eh_frame_size;

	while (size && !load->eh_frame[size - 1])
		size--;
	return !size || record->map.len < behind + size ||
	       file_holds(fd, record->map.pgoff + behind, load->eh_frame, size);
}

const char *jp_injected_bytes_compare(struct jp_file_finder *finder, const struct jp_event *record,
				      const struct jp_code_load *load, uint32_t e_machine)
{
	const struct jp_wanted_file wanted_file = {.path = record->map.name, .pid = record->pid};
	const Elf64_Half machine = (Elf64_Half)e_machine;
	struct jp_found_file file;
	const char *cause = NULL;

	if (!jp_file_finder_injected(finder, record->map.name) ||
	    jp_file_find(finder, &wanted_file, JP_FILE_GIVEN, &file, NULL))
		return NULL;
	/* In a run directory each file has a descriptor, unlike files in memory. */
	if (!file_holds(file.fd, offsetof(Elf64_Ehdr, e_machine), (const unsigned char *)&machine,
			sizeof(machine)))
		cause = "other-machine";
	else if (load->code && !file_holds(file.fd, record->map.pgoff, load->code, load->size))
		cause = "other-bytes";
	else if (!has_tables(file.fd, record, load))
		cause = "other-tables";
	jp_found_file_close(&file);
	return cause;
}
