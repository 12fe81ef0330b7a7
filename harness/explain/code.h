/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/base/map.h"
#include "harness/format/elf/elf_symbols.h"
#include "harness/model/files/file_finder.h"
#include "harness/model/space/places.h"

/* The owner of the code in a mapping. */
enum jp_code_kind {
	JP_CODE_NONE,
	JP_CODE_FILE,
	JP_CODE_PROGRAM, /* main program */
	JP_CODE_LIBC,    /* libc, libpthread: threads begin there */
	JP_CODE_LOADER,  /* ld.so */
	JP_CODE_EMITTED, /* emitted by a JIT: in memory, or in a file that inject wrote */
	JP_CODE_SYSTEM,  /* vDSO and similar */
	JP_CODE_KINDS,
};

/* Returns the kind of code according to the mapping's name; never PROGRAM. */
enum jp_code_kind jp_code_classify(enum jp_backing backing, const char *path);
/* Returns whether the file @path is libc, libpthread or ld.so: threads begin there, and
 * distributions strip them. */
bool jp_code_is_c_library(const char *path);
/* Returns whether ld.so mapped the text of a library from a memfd or /dev/shm. A JIT shares its
 * memory there, to write to its code by another mapping; ART's code in an older /dev/ashmem is
 * private. */
bool jp_code_is_library(const struct jp_mapping *mapping);
/* Reads which tables the file has that is at the wanted path on this machine. Returns false if
 * there is none. */
bool jp_code_read_tables(struct jp_file_finder *finder, const struct jp_wanted_file *wanted,
			 struct jp_elf_tables *tables);
/* Advice to users: how to keep the symbols of a program that was loaded from a memfd. */
extern const char jp_code_memory_remedy[];
/* Cache of the kinds of code: by the mapping's name, and in the note of each stretch (a range of an
 * address space, struct jp_stretch). */
struct jp_codes {
	struct jp_places *places;
	struct jp_map files; /* kinds by address of the name; never PROGRAM */
};
enum jp_code_kind jp_code_note(struct jp_codes *codes, const struct jp_places_process *process,
			       struct jp_stretch *stretch);
/* Returns the name of the file whose text lies in the stretch, even if the text has been copied to
 * anonymous memory (jp_is_remapped_text()); else the name of the stretch's mapping. */
const char *jp_code_file(const struct jp_codes *codes, const struct jp_places_process *process,
			 const struct jp_stretch *stretch);
/* Bits of a stretch's note. */
enum {
	JP_CODE_KIND = 15,
	JP_CODE_INTERPRETS = 16,
	JP_CODE_HOTSPOT =
		32, /* calls emitted code only through one emitted function with a frame */
};

/* Returns the kind of code in a mapped stretch. */
static inline enum jp_code_kind jp_code_at(struct jp_codes *codes,
					   const struct jp_places_process *process,
					   struct jp_stretch *stretch)
{
	return stretch->note ? (enum jp_code_kind)(stretch->note & JP_CODE_KIND)
			     : jp_code_note(codes, process, stretch);
}
