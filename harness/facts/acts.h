/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/facts/watch.h"

/*
 * Runs the probe that @acts describes: system calls on the test region (test_region.h) and commands
 * that add records of @watch to the answer, separated by ';'. A RANGE is "PAGE+PAGES", a PROT one
 * of rwx, rw, rx, r, x, none.
 *
 * 	map RANGE PROT     locked RANGE PROT     grows-down RANGE PROT
 * 	protect RANGE PROT     unmap RANGE     write RANGE     (to each page)
 * 	move RANGE PAGE     keep RANGE PAGE     (mremap; MREMAP_DONTUNMAP)
 * 	grow RANGE PAGES     (mremap, in place)
 * 	forget     (discards the records so far)
 * 	report range|prot|place|all     (jp_answer_maps())
 * 	say WORD     (adds WORD to the answer)
 *
 */
void jp_acts_probe(struct jp_answer *answer, struct jp_watch *watch, const char *acts);
