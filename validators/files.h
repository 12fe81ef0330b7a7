/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_VALIDATORS_FILES_H
#define JP_VALIDATORS_FILES_H

#include "harness/judge/validator.h"

/* Whether the capture has anything of @pid at @time at all. */
typedef bool (*jp_files_seen)(void *context, uint32_t pid, uint64_t time);

/*
 * Which file does the code of each process come from: lays the truth's files (the program,
 * libraries) over the capture's mappings, and each sample in one of them over the mapping that it
 * falls in.
 */
int jp_files_judge(const struct jp_evidence *evidence, enum jp_left_out add_back,
		   jp_files_seen seen, void *context, struct jp_findings *findings,
		   struct jp_error *err);

#endif
