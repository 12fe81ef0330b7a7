/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct jp_elf_store;
struct jp_file_finder;
struct jp_mapping;

/* A cache of facts about the calls in the code of files. */
struct jp_call_sites;
/* Creates an empty cache. The caller keeps @store and @finder until jp_call_sites_free(). Returns
 * NULL if there is no memory. */
struct jp_call_sites *jp_call_sites_new(struct jp_elf_store *store, struct jp_file_finder *finder);
void jp_call_sites_free(struct jp_call_sites *sites);
/* Returns the address of a function in @mapping's file that has a frame in each complete callchain
 * with return address @addr, or 0. There is such a function if the instruction before @addr calls
 * it directly, and it keeps its frame until it returns and never leaves by a jump. */
uint64_t jp_call_sites_frame_behind(struct jp_call_sites *sites, const struct jp_mapping *mapping,
				    uint64_t addr);
/* Returns whether each complete callchain with return address @addr in @libc, the mapping of a C
 * library, must contain a frame of main(): the code at @addr passes the result to exit(). Only
 * known for x86-64. Each address is asked of one of these two functions alone. */
bool jp_call_sites_main_behind(struct jp_call_sites *sites, const struct jp_mapping *libc,
			       uint64_t addr);
