/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/explain/explain.h"

/* Writes the explanation of @file to standard output, as text. */
void jp_explain_report_text(const struct jp_explanation *explanation, const char *file);
/* Writes the explanation of @file to standard output, as one JSON object (docs/explain.md). */
void jp_explain_report_json(const struct jp_explanation *explanation, const char *file);
