/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/base/map.h"
#include "harness/model/space/places.h"

/* Whose code lies in a mapping. */
enum jp_code_kind {
	JP_CODE_NONE,
	JP_CODE_FILE,
	JP_CODE_PROGRAM, /* of the main program's file */
	JP_CODE_LIBC,    /* libc, libpthread: where threads begin */
	JP_CODE_LOADER,  /* ld.so */
	JP_CODE_EMITTED, /* a JIT's: in memory, or in a file that inject wrote */
	JP_CODE_SYSTEM,  /* vDSO and the like */
	JP_CODE_KINDS,
};

/* By the mapping's name; never PROGRAM. */
enum jp_code_kind jp_code_of(enum jp_backing backing, const char *path);
/* Whether the file @path is libc, libpthread or ld.so: in them threads begin, and distributions
 * strip them. */
bool jp_code_is_c_library(const char *path);
/* Whose code lies where, cached by the mapping's name, and in the stretch. */
struct jp_codes {
	struct jp_places *places;
	struct jp_map files; /* as noted, by the name's pointer; never PROGRAM */
};
enum jp_code_kind jp_code_note(struct jp_codes *codes, const struct jp_places_process *process,
			       struct jp_stretch *stretch);
/* The file whose text lies in the stretch, though it is memory; else the stretch's own name. */
const char *jp_code_file(const struct jp_codes *codes, const struct jp_places_process *process,
			 const struct jp_stretch *stretch);
enum { JP_CODE_KIND = 15, JP_CODE_INTERPRETS = 16 }; /* of a stretch's note */

/* Of a stretch that is mapped. */
static inline enum jp_code_kind jp_code_at(struct jp_codes *codes,
					   const struct jp_places_process *process,
					   struct jp_stretch *stretch)
{
	return stretch->note ? (enum jp_code_kind)(stretch->note & JP_CODE_KIND)
			     : jp_code_note(codes, process, stretch);
}
/* Whether the file runs programs that are not in its own functions' names. */
bool jp_code_interprets(const char *path);
