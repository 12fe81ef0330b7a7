/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/error.h"
#include "harness/format/jit/perf_map.h"
#include "harness/model/files/file_finder.h"
#include "harness/model/space/replay.h"

/* Finds the name that perf gives to an address of a capture, by perf's own rules (docs/names.md
 * lists the versions). The latest mapping record of the address decides: if perf considers the
 * mapping anonymous, the name is in the process's perf map, otherwise in the symbols of the mapped
 * file. */
struct jp_names;
/* Creates an empty cache of names. The caller keeps @finder, which finds the files, until
 * jp_names_free(). Returns NULL if there is no memory. */
struct jp_names *jp_names_new(struct jp_file_finder *finder);
void jp_names_free(struct jp_names *names);

/* The source of a name, or the reason why there is none. */
enum jp_name_source {
	JP_NAME_ELF,     /* symbols of the mapped file */
	JP_NAME_JITDUMP, /* symbols of a file that inject made of a jitdump */
	JP_NAME_MAP,     /* the process's perf map */
	JP_NAME_NO_MAPPING,
	JP_NAME_NOT_ANONYMOUS, /* the mapping has no file, and perf reads no perf map for it: memfd,
				  not executable */
	JP_NAME_NO_MAP,        /* anonymous, but the process has no perf map */
	JP_NAME_BAD_MAP,       /* the perf map is not a regular file, or unreadable */
	JP_NAME_NOT_IN_MAP,
	JP_NAME_OVERLAPPED, /* a line of the perf map contains the address, but perf does not find
			       it because lines overlap */
	JP_NAME_NO_ELF,     /* the file is not ELF: emitted code, or an image */
	JP_NAME_NO_FILE,
	JP_NAME_OTHER_FILE, /* the file has another build id than the recorded one */
	JP_NAME_BAD_FILE,   /* the file is not regular, broken, or unreadable */
	JP_NAME_STRIPPED,   /* the file has no symbols, or only dynamic ones */
	JP_NAME_NO_SYMBOL,
	JP_NAME_SOURCES,
	JP_NAME_NAMED = JP_NAME_NO_MAPPING, /* smaller values have a name */
};
extern const char *const jp_name_source_text[JP_NAME_SOURCES];

struct jp_name {
	const char *text; /* the name, valid as long as the cache; NULL: none */
	enum jp_name_source source;
	uint16_t since; /* first perf version with this name, JP_PERF_VERSION(); 0: all versions */
};
/* Returns the name of @addr in @mapping (NULL: @addr is not mapped). */
struct jp_name jp_names_find(struct jp_names *names, const struct jp_mapping *mapping,
			     uint64_t addr);
/* Returns whether @mapping maps a file that inject made of a jitdump. */
bool jp_names_injected(struct jp_names *names, const struct jp_mapping *mapping);
/* Returns the perf map of @pid, or NULL and the error of jp_file_find_map() in *@missing, which may
 * be NULL. */
const struct jp_perf_map *jp_names_map(struct jp_names *names, uint32_t pid, int *missing);
