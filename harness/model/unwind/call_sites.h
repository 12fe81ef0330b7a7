/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct jp_elf_store;
struct jp_file_finder;
struct jp_mapping;

/* What the code of a file says of calls that return to it, cached by address. */
struct jp_call_sites;
/* Both are the caller's. NULL: no memory. */
struct jp_call_sites *jp_call_sites_new(struct jp_elf_store *store, struct jp_file_finder *finder);
void jp_call_sites_free(struct jp_call_sites *sites);
/*
 * Whether what called back to @addr in @mapping was a function of the same file that had a frame
 * for as long as it ran: the call names it, and it gives its frame up to return, never to go on
 * elsewhere. Then it has a frame in each whole chain that comes through @addr.
 */
bool jp_call_sites_frame_behind(struct jp_call_sites *sites, const struct jp_mapping *mapping,
				uint64_t addr);
