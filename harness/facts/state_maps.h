/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/facts/watch.h"

/* Most bytes of a mapping's name in an answer: a path may be longer than an answer can be. */
enum { JP_MAP_NAME_BYTES = 95 };

/* The fields of a mapping record that an answer contains. */
enum jp_map_fields {
	JP_FIELDS_RANGE, /* "0+4": from page 0 of the test region, four pages */
	JP_FIELDS_PROT,  /* "0+4 r-x" */
	JP_FIELDS_NAME,  /* "0+4 r-x //anon" */
	JP_FIELDS_PLACE, /* "0+4 r-x //anon pgoff=page 0 ino=no" */
	JP_FIELDS_ALL,   /* "0+4 r-x //anon pgoff=page 0 ino=no flags=0x2" */
};
/* Adds to the answer a list of the mapping records in the test region. */
void jp_answer_maps(struct jp_answer *answer, struct jp_watch *watch, enum jp_map_fields fields);
/* Adds a list of all mapping records: "r-x //anon". */
void jp_answer_names(struct jp_answer *answer, struct jp_watch *watch);

/* Adds a list of all records: "FORK B of A", "COMM B exec name", "MMAP2 B r-x //anon", "EXIT B of
 * A". Processes and threads are letters in order of appearance; "A" is the caller, "A/B" its thread
 * B. */
void jp_answer_records(struct jp_answer *answer, struct jp_watch *watch);
