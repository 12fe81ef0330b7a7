/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/json.h"
#include "harness/explain/explain.h"

/* How much of an explanation to show. */
struct jp_explain_shown {
	bool all_places; /* all places and notes; else the worst place of each cause, and no notes
			  */
	unsigned int width; /* largest width of a line, in columns; 0: no limit */
};
/* Writes the explanation of @file to standard output, as text. */
void jp_explain_report_text(const struct jp_explanation *explanation, const char *file,
			    const struct jp_explain_shown *shown);
/* Adds to @json the same object as jp_explain_report_json() writes. */
void jp_explain_report_write(struct jp_json *json, const struct jp_explanation *explanation,
			     const char *file);
/* Writes the explanation of @file to standard output, as one JSON object (docs/explain.md). */
void jp_explain_report_json(const struct jp_explanation *explanation, const char *file);
