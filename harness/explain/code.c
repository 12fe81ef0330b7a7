// SPDX-License-Identifier: GPL-2.0-only
#include "harness/explain/code.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "harness/base/path.h"
#include "harness/explain/remapped.h"
#include "harness/model/space/mapping_name.h"

const char jp_code_memory_remedy[] = "record with --buildid-mmap, and give explain a copy of the "
				     "program of that build id: --elf DIR";

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Returns whether the name is libc.so.6, libc-2.31.so, libc.musl-x86_64.so.1 or similar, for
 * @library "libc". */
static bool is_library(const char *name, const char *library)
{
	const size_t length = strlen(library);

	return strncmp(name, library, length) == 0 &&
	       (has_prefix(name + length, ".so") || has_prefix(name + length, ".musl") ||
		(name[length] == '-' && isdigit((unsigned char)name[length + 1])));
}

static bool is_loader(const char *name)
{
	return is_library(name, "ld") || has_prefix(name, "ld-linux") ||
	       has_prefix(name, "ld-musl") || has_prefix(name, "ld64.so");
}

bool jp_code_is_c_library(const char *path)
{
	const enum jp_code_kind code = jp_code_classify(JP_BACKING_FILE, path);

	return code == JP_CODE_LIBC || code == JP_CODE_LOADER;
}

enum jp_code_kind jp_code_classify(enum jp_backing backing, const char *path)
{
	const char *name = jp_path_base(path);

	if (backing != JP_BACKING_FILE)
		return JP_CODE_EMITTED;
	/* Files that inject wrote contain a JIT's code. */
	if (jp_mapping_injected(path))
		return JP_CODE_EMITTED;
	if (*path != '/')
		return JP_CODE_SYSTEM;
	if (is_library(name, "libc") || is_library(name, "libpthread"))
		return JP_CODE_LIBC;
	return is_loader(name) ? JP_CODE_LOADER : JP_CODE_FILE;
}

bool jp_code_is_library(const struct jp_mapping *mapping)
{
	return (strncmp(mapping->name, "/memfd:", 7) == 0 || mapping->backing == JP_BACKING_SHM) &&
	       mapping->flags & JP_MAP_PRIVATE && !(mapping->prot & JP_PROT_WRITE) &&
	       mapping->pgoff;
}

/* Returns whether @rest, which follows an interpreter's name, is a version or an ending. With a
 * word there, the file is another program: perlin, ruby-bench, or luajit, which has an interpreter
 * of its own beside its traces. */
static bool is_version(const char *rest)
{
	rest += *rest == '-';
	return !isalpha((unsigned char)*rest) && *rest != '_';
}

/* Returns whether the file is an interpreter, so that its functions' names do not show the
 * program. */
static bool is_interpreter(const char *path)
{
	static const char *const names[] = {
		"python",    "libpython",    "perl",        "libperl", "ruby",        "libruby",
		"php",       "php-fpm",      "php-cgi",     "libphp",  "tclsh",       "libtcl",
		"Rscript",   "libR",         "node",        "nodejs",  "mawk",        "gawk",
		"ocamlrun",  "liboctinterp", "micropython", "qjs",     "libquickjs",  "lua",
		"liblua",    "gforth",       "gforth-fast", "guile",   "libguile",    "bash",
		"dash",      "zsh",          "ksh",         "fish",    "emacs",       "emacs-gtk",
		"emacs-nox", "swipl",        "libswipl",    "neko",    "libneko",     "mruby",
		"libmruby",  "duk",          "libduktape",  "mujs",    "libmujs",     "jimsh",
		"libjim",    "gosh",         "libgauche",   "hermes",  "wasm-interp", "wasm3",
		"vvp",       "pike",         "libecl",      "libmoar", "newlisp",     "lisp.run"};
	const char *name = jp_path_base(path);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (has_prefix(name, names[i]) && is_version(name + strlen(names[i])))
			return true;
	/* OpenJDK's java -zero; its other libjvm.so are in server/ and client/. */
	return strstr(path, "/zero/libjvm.so") != NULL;
}

static uint8_t describe_code_file(const char *name)
{
	const enum jp_code_kind code = jp_code_classify(jp_mapping_backing(name), name);

	if (code != JP_CODE_FILE)
		return (uint8_t)code;
	return (uint8_t)(code | (is_interpreter(name) ? JP_CODE_INTERPRETS : 0) |
			 (strcmp(jp_path_base(name), "libjvm.so") == 0 ? JP_CODE_HOTSPOT : 0));
}

const char *jp_code_file(const struct jp_codes *codes, const struct jp_places_process *process,
			 const struct jp_stretch *stretch)
{
	struct jp_mapping text;
	const struct jp_mapping *mapping =
		stretch->place == JP_PLACE_ANON
			? jp_remapped_find(codes->places->replay, process->pid, stretch->start,
					   &text)
			: NULL;

	return mapping ? mapping->name : stretch->name;
}

enum jp_code_kind jp_code_note(struct jp_codes *codes, const struct jp_places_process *process,
			       struct jp_stretch *stretch)
{
	const char *name = jp_code_file(codes, process, stretch);
	uint64_t *known = jp_map_at(&codes->files, (uintptr_t)name, sizeof(*known));
	uint8_t note = known && *known ? (uint8_t)*known : describe_code_file(name);
	enum jp_code_kind code = note & JP_CODE_KIND;
	const struct jp_mapping *mapping =
		code == JP_CODE_EMITTED
			? jp_replay_find(codes->places->replay, process->pid, stretch->start)
			: NULL;

	if (known)
		*known = note;
	if (mapping && jp_code_is_library(mapping))
		code = JP_CODE_FILE;
	if ((code == JP_CODE_FILE || code == JP_CODE_EMITTED) && process->program &&
	    (stretch->root || name != stretch->name) && strcmp(process->program, name) == 0)
		code = JP_CODE_PROGRAM;
	stretch->note = (uint8_t)((note & ~JP_CODE_KIND) | code);
	return code;
}

bool jp_code_read_tables(struct jp_file_finder *finder, const struct jp_wanted_file *wanted,
			 struct jp_elf_tables *tables)
{
	struct jp_found_file found;

	if (jp_file_find(finder, wanted, JP_FILE_ITSELF, &found, NULL))
		return false;
	*tables = jp_elf_tables(&(struct jp_elf_input){found.fd, found.image, found.size});
	jp_found_file_close(&found);
	return true;
}
