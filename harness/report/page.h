/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

/* Writes the page that draws @json (docs/report-format.md), which it contains: no other file is
 * needed. ferror(@out) has write errors. */
void jp_page_write(FILE *out, const char *json);
