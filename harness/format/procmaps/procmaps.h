/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"
#include "harness/format/event.h"

/* One line of /proc/PID/maps. */
struct jp_procmap {
	uint64_t start, end, offset;
	uint8_t prot; /* enum jp_prot */
	char shared;  /* 's' or 'p' */
	uint32_t maj, min;
	uint64_t ino;
	/* Name of the mapping; "" if the line has none. "\012" is decoded to a newline. A "
	 * (deleted)" at the end stays, as in the kernel's MMAP2 records. */
	const char *name;
};

/* Parses @text, @size bytes of maps without a NUL. Allocates *@maps with its names in one block,
 * which the caller frees. Returns 0, -ENOMEM, or -EINVAL with a message that names the line and
 * what was expected. */
int jp_procmaps_parse(const char *text, size_t size, struct jp_procmap **maps, size_t *count,
		      struct jp_error *err);
/* Returns the event that maps @map in @pid, with the name and the offset that the kernel's records
 * have for memory without a name. */
struct jp_event jp_procmap_event(const struct jp_procmap *map, uint32_t pid, uint64_t time);
bool jp_procmap_same_file(const struct jp_procmap *a, const struct jp_procmap *b);
/* Returns the end of the file whose first mapping is @maps[0], including the memory after it that
 * the file does not fill; stops before another executable mapping of the file. The program loader
 * may first map all of this with the protection of the first segment. */
uint64_t jp_procmap_loaded_end(const struct jp_procmap *maps, size_t count);
