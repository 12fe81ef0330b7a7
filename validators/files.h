/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/judge/validator.h"

/* Whether the capture has anything of @pid at @time at all. */
typedef bool (*jp_files_seen)(const void *context, uint32_t pid, uint64_t time);

/*
 * Which file does the code of each process come from: lays the truth's files (the program,
 * libraries) over the capture's mappings, and each sample in one of them over the mapping that it
 * falls in.
 */
struct jp_files;
struct jp_files *jp_files_begin(struct jp_view *view);
int jp_files_sample(struct jp_files *files, const struct jp_event *event);
int jp_files_end(struct jp_files *files, jp_files_seen seen, const void *context);
void jp_files_free(struct jp_files *files);
