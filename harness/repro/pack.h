/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_REPRO_PACK_H
#define JP_REPRO_PACK_H

#include "harness/repro/repro.h"

/* Writes the archive of what was staged; what was at @path stays until the whole of it can take its
 * place. @adapters: the folder of profilers' adapters. */
int jp_repro_pack(const struct jp_repro *repro, const char *adapters, const char *path,
		  uint64_t *size, struct jp_error *err);

#endif
