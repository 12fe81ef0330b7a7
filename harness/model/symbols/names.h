/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/error.h"
#include "harness/format/jit/perf_map.h"
#include "harness/model/files/file_finder.h"
#include "harness/model/space/replay.h"

/*
 * Which name a capture yields for an address, by perf's own rules (docs/names.md names the versions
 * that they describe): the latest mapping record decides; where perf takes it for anonymous, the
 * process's perf map; else the symbols of the file that it names.
 */
struct jp_names;
/* Files are looked for by @finder, which stays the caller's. NULL: no memory. */
struct jp_names *jp_names_new(struct jp_file_finder *finder);
void jp_names_free(struct jp_names *names);

/* How an address got its name, or why it has none. */
enum jp_name_how {
	JP_NAME_ELF,     /* by symbols of the file that is mapped there */
	JP_NAME_JITDUMP, /* by those of a file that inject made of a jitdump */
	JP_NAME_MAP,     /* by the process's perf map */
	JP_NAME_NO_MAPPING,
	JP_NAME_NOT_ANONYMOUS, /* no file, and perf asks no perf map: memfd, not executable */
	JP_NAME_NO_MAP,        /* anonymous, and the process has no perf map */
	JP_NAME_BAD_MAP,       /* what lies there is no regular file, or may not be read */
	JP_NAME_NOT_IN_MAP,
	JP_NAME_OVERLAPPED, /* in lines that overlap others, and perf does not find them */
	JP_NAME_NO_ELF,     /* the file is none of ELF: emitted code, or a picture of it */
	JP_NAME_NO_FILE,
	JP_NAME_OTHER_FILE, /* it has another build id than the one that was recorded */
	JP_NAME_BAD_FILE,   /* no regular file, broken, or may not be read */
	JP_NAME_STRIPPED,   /* it has no symbols, or those alone that other files use */
	JP_NAME_NO_SYMBOL,
	JP_NAME_HOWS,
	JP_NAME_NAMED = JP_NAME_NO_MAPPING, /* those before it are names */
};
extern const char *const jp_name_how_text[JP_NAME_HOWS];

struct jp_name {
	const char *text; /* NULL: none; lives as long as the names */
	enum jp_name_how how;
	uint16_t since; /* the perf that first gives it, JP_PERF_VERSION(); 0: all of them */
};
/* The name of @addr, which @mapping covers (NULL: no mapping). */
struct jp_name jp_names_find(struct jp_names *names, const struct jp_mapping *mapping,
			     uint64_t addr);
/* Whether a record of @mapping leads to a file that inject made of a jitdump. */
bool jp_names_injected(struct jp_names *names, const struct jp_mapping *mapping);
/* The perf map of @pid; NULL, and in *@missing (may be NULL) why, as jp_file_find_map(). */
const struct jp_perf_map *jp_names_map(struct jp_names *names, uint32_t pid, int *missing);
