/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Marks: this process writes all its executable mappings, as /proc has them, into the truth. What
 * emitted code is made of is in the truth act by act; libraries, the program, the vDSO and how the
 * kernel itself calls each mapping come from here.
 */
void jp_maps_mark(void);
/* The same, if the last mark was long ago for what it cost: for what happens often. */
void jp_maps_mark_seldom(void);
/* In a forked child, first of all: another thread of the parent may have been at it. */
void jp_maps_forked(void);
