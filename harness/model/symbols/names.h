/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_NAMES_H
#define JP_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/error.h"
#include "harness/model/space/replay.h"

/*
 * Which name a capture yields for an address, by perf's own rules (docs/names.md names the version
 * that they describe): the latest mapping record decides; where it leads into an ELF file that
 * inject wrote, that file's symbols; where perf takes it for anonymous, the process's perf map;
 * else none. Reads nothing but @dir.
 */
struct jp_names;
struct jp_names *jp_names_open(const char *dir, struct jp_error *err);
void jp_names_free(struct jp_names *names);
/* The name of @addr, which @mapping covers (NULL: no mapping), or NULL. Lives as long as
 * @names. @why: a word for how: "elf", "map", or why not: "no-mapping"; "no-elf" (an ELF file of
 * inject that is not there, or bad); "no-symbol" (the ELF file or the perf map does not hold
 * @addr); "overlapped" (the perf map does, in lines that overlap others, and perf does not find
 * them); "no-map" (anonymous, and no perf map); "not-anonymous" (no ELF file of inject, and not
 * what perf takes for anonymous: memfd, or not executable). */
const char *jp_names_find(struct jp_names *names, const struct jp_mapping *mapping, uint64_t addr,
			  const char **why);
/* Whether a record of a mapping called @mapping leads to an ELF file that inject wrote. */
bool jp_names_injected(struct jp_names *names, const char *mapping);

#endif
