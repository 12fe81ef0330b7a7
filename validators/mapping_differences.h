/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/map.h"
#include "harness/judge/validator.h"
#include "harness/model/oracle/executable.h"
#include "validators/mapping_points.h"

/* Reported differences between the executable mappings of a capture and of the truth. */
struct jp_mapping_differences {
	struct jp_view *view;
	const struct jp_executables *truth;
	struct jp_map listed; /* digests of reported differences */
	bool nothing;         /* the capture has no mapping of the process at this point */
};

/* A place at which the capture differs from the truth. */
struct jp_mapping_difference {
	const char *metric, *cause;
	uint64_t start, end;
	const struct jp_executable *truth; /* NULL: none */
	const struct jp_executable *last;  /* the last mapping there; NULL: none */
	const struct jp_mapping *known;    /* NULL: none */
};

/* Returns the cause why the capture still has @known at @time where the truth's last mapping was
 * @last (NULL: none). "invented": @known never existed. */
const char *jp_mapping_extra_cause(const struct jp_mapping_differences *all,
				   const struct jp_executable *last, const struct jp_mapping *known,
				   uint64_t time);
/* Reports @different and increments *@count, unless it is reported already. Returns 0 or
 * -ENOMEM. */
int jp_mapping_report(struct jp_mapping_differences *all, const struct jp_mapping_point *point,
		      const struct jp_mapping_difference *different, uint64_t *count);
