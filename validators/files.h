/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/judge/validator.h"

/* Returns whether the capture has any record or sample of @pid at @time. */
typedef bool (*jp_files_seen)(const void *context, uint32_t pid, uint64_t time);

/* Compares the truth's files (programs, libraries) with the capture's mappings. */
struct jp_files;
/* Returns NULL if out of memory. */
struct jp_files *jp_files_begin(struct jp_view *view);
/* Judges whether the capture's mapping credits sample @event to the right file. Returns 0 or
 * -ENOMEM. */
int jp_files_sample(struct jp_files *files, const struct jp_event *event);
/* Judges each file that was mapped at a time for which @is_visible, called with @context, returns
 * true, and adds the metrics. Returns 0 or -ENOMEM. */
int jp_files_end(struct jp_files *files, jp_files_seen is_visible, const void *context);
void jp_files_free(struct jp_files *files);
