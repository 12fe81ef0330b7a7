/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

#include "harness/outcome/outcome.h"

/* KTAP version 1: the version line and the plan, then each result under its diagnostics. */
void jp_ktap_head(FILE *out, size_t plan);
void jp_ktap_result(FILE *out, size_t number, const struct jp_result *result);
/* @text as diagnostics, each line behind @prefix; nothing in it ends or fakes a line. */
void jp_ktap_comment(FILE *out, const char *prefix, const char *text);
/* Each book as a comment: its classes, largest first, and what they add up to. */
void jp_ktap_books(FILE *out, const struct jp_books *books);
/* Totals as a comment. @counts: by outcome. */
void jp_ktap_totals(FILE *out, const size_t counts[JP_OUTCOMES]);
