/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

#include "harness/base/json.h"
#include "harness/trace/tally.h"

/* Prints the counts of a trace as tables. */
void jp_tally_print(const struct jp_tally *tally, FILE *out);
/* Writes the counts of a trace as members of the JSON object that is open in @json. */
void jp_tally_json(const struct jp_tally *tally, struct jp_json *json);
/* Writes an instruction as a JSON object. */
void jp_trace_insn_json(const struct jp_trace_insn *insn, struct jp_json *json);
