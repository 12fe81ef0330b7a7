/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/evidence/control.h"

/* Functions for controls that skip entries of a snapshot; the control's policy decides which. */

/* Returns whether the capture's policy skips @map. */
typedef bool (*jp_skips)(const struct jp_evidence *evidence, const struct jp_procmap *map);

/* Functions of struct jp_control. */

bool jp_skipped_mapping(struct jp_left_out *what, jp_skips skips);
void jp_skipped_describe(const struct jp_left_out *what, char *text, size_t size);
int jp_skipped_add_back(const struct jp_evidence *evidence, struct jp_extras *extras,
			jp_skips skips);
