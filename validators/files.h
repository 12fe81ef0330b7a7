/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/judge/validator.h"

/* Returns whether the capture knows anything of @pid at @time. */
typedef bool (*jp_files_seen)(const void *context, uint32_t pid, uint64_t time);

/* Compares the truth's files (programs, libraries) with the capture's mappings, and credits each
 * sample in a file to the mapping that contains it. */
struct jp_files;
struct jp_files *jp_files_begin(struct jp_view *view);
int jp_files_sample(struct jp_files *files, const struct jp_event *event);
int jp_files_end(struct jp_files *files, jp_files_seen seen, const void *context);
void jp_files_free(struct jp_files *files);
