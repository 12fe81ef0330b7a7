/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/format/jit/jitdump_read.h"

/* The jitdumps (jit-*.dump) of a run directory. */
struct jp_jitdump_folder {
	struct jp_jitdump **dumps; /* NULL: the file could not be opened */
	uint64_t count, nr_bad; /* @count: number of files; @nr_bad: number of files that could not
				be read completely */
	struct jp_error first_error; /* error of the first bad file */
};

/* Handles a record. @record is NULL at the start of each file. Returns 0, or -errno to stop. */
typedef int (*jp_jitdump_visit)(void *context, const struct jp_jitdump_header *header,
				const struct jp_jitdump_record *record);

/* Calls @visit with each record of the jitdumps in the folder, file by file, each file up to its
 * first invalid record. Records point into @folder's dumps. Returns 0, or -errno and a message. */
int jp_jitdump_folder_read(const char *dir, struct jp_jitdump_folder *folder,
			   jp_jitdump_visit visit, void *context, struct jp_error *err);
/* Does the same as jp_jitdump_folder_read() with the files @paths, which must belong to user @owner
 * (-1: any user). */
int jp_jitdump_files_read(char *const *paths, size_t count, int64_t owner,
			  struct jp_jitdump_folder *folder, jp_jitdump_visit visit, void *context,
			  struct jp_error *err);
/* Frees @folder's dumps. Call it after an error too. */
void jp_jitdump_folder_free(struct jp_jitdump_folder *folder);

/* Code that a LOAD or MOVE record of a jitdump (jit-*.dump) placed at an address. */
struct jp_code_load {
	uint32_t pid, owner; /* @pid: pid in the record; @owner: pid in the header of the jitdump */
	uint64_t time, addr, size;
	size_t order;     /* number of the record among the LOADs and MOVEs of all files */
	const char *name; /* name; for a MOVE the name in the last LOAD with the same code index, or
			     "" */
	/* For a MOVE, the next members are also taken from that LOAD. */
	const unsigned char *code; /* @size bytes of code; NULL: not in the jitdump */
	/* .eh_frame from the UNWINDING_INFO record, with addresses relative to the next multiple of
	 * 8 after the code; NULL: none. */
	const unsigned char *eh_frame;
	uint64_t eh_frame_size;
	uint64_t mapped_size; /* number of bytes of tables, .eh_frame and .eh_frame_hdr, that the
			    process has in memory behind the code */
};

struct jp_code_loads {
	struct jp_code_load *loads; /* sorted by pid, addr, time */
	size_t count;
	struct jp_jitdump_folder folder; /* owns the code and tables of @loads */
};

/* Reads all jitdumps in folder @dir, each up to its first invalid record. Returns 0, or -errno and
 * a message; then @loads is empty. */
int jp_code_loads_read(const char *dir, struct jp_code_loads *loads, struct jp_error *err);
/* Does the same as jp_code_loads_read() with the files @paths, which must belong to user @owner
 * (-1: any user). */
int jp_code_loads_read_files(char *const *paths, size_t count, int64_t owner,
			     struct jp_code_loads *loads, struct jp_error *err);
void jp_code_loads_free(struct jp_code_loads *loads);
