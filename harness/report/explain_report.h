/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/explain/explain.h"

/* Write the explanation to standard output, as text or as one JSON object (docs/explain.md). */
void jp_explain_report_text(const struct jp_explanation *explanation, const char *file);
void jp_explain_report_json(const struct jp_explanation *explanation, const char *file);
