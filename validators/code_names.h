/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/symbols/names.h"
#include "validators/code_incarnations.h"
#include "validators/named_samples.h"

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
