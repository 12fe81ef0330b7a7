/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/judge/findings.h"
#include "harness/model/symbols/names.h"
#include "validators/code_incarnations.h"

/* Kinds of results for a sample's name, from bad to good. */
enum jp_named { JP_NAME_WRONG, JP_NAME_NONE, JP_NAME_RIGHT, JP_NAMES };
/* Names of the kinds in results: "wrong", "unnamed", "right". */
extern const char *const jp_named_text[JP_NAMES];

struct jp_named_sample {
	uint64_t time, ip;
	uint32_t pid, tid, cpu;
	enum jp_named class;
	bool covered; /* a record after the load covers the address; meaningful before inject */
};

/* Samples of one file whose names are judged. */
struct jp_named_samples {
	struct jp_named_sample *samples;
	size_t count, capacity;
};
/* Appends @sample. Returns 0 or -ENOMEM. */
int jp_named_samples_add(struct jp_named_samples *samples, const struct jp_named_sample *sample);
void jp_named_samples_free(struct jp_named_samples *samples);

/* How inject changed the names of samples. */
struct jp_names_change {
	uint64_t covered, covered_bad; /* samples that were covered before inject; part of them:
					  without the right name afterwards */
	uint64_t nr_in_both;           /* samples in both files */
	uint64_t nr_better, nr_worse, nr_lost;
};
/* Compares the samples before and after inject, and reports inject.lost (not in both files) and
 * inject.worse. Sorts both lists. Every sample must lie in one of @incarnations. Returns 0 or
 * -ENOMEM. */
int jp_names_compare_around_inject(struct jp_named_samples *before, struct jp_named_samples *after,
				   const struct jp_incarnations *incarnations,
				   struct jp_findings *findings, struct jp_names_change *change);

/* The inputs of jp_code_name_at(), which finds the name that a capture gives to emitted code. */
struct jp_naming {
	const struct jp_view *view;
	struct jp_names *names;
	const struct jp_code_loads *loads;
	const struct jp_incarnations *incarnations;
};

/* The name that the capture gives to one address in emitted code, at the replay's position. */
struct jp_code_name {
	const struct jp_incarnation *incarnation;
	uint64_t ip;
	enum jp_named class;
	const struct jp_mapping *mapping; /* mapping of the capture; NULL: none */
	const char *recorded;             /* name in the capture; NULL: none */
	enum jp_name_source source;       /* how jp_names_find() found the name */
	bool covered;                     /* a mapping record after the load covers the address */
};

/* Returns the capture's name for address @ip, which lies in @incarnation. */
struct jp_code_name jp_code_name_at(const struct jp_naming *naming,
				    const struct jp_incarnation *incarnation, uint64_t ip);
/* Returns the cause why @name, found at @time, is not the code's own name. */
const char *jp_code_name_cause(const struct jp_naming *naming, const struct jp_code_name *name,
			       uint64_t time);
/* Stores in @text, of @size bytes, the function's load time, the name found, and the mapping record
 * that covers the function. Returns @text. */
const char *jp_code_name_text(const struct jp_code_name *name, char *text, size_t size);
