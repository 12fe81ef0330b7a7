/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/map.h"
#include "harness/judge/validator.h"
#include "harness/model/oracle/executable.h"
#include "validators/mapping_points.h"

/* Where a capture's executable memory differs from the truth's: each difference counts once. */
struct jp_mapping_differences {
	struct jp_view *view;
	const struct jp_executables *truth;
	struct jp_map listed; /* what is an exception already: it counts once, not at each point */
	bool nothing;         /* at this point the capture knows no mapping of the process at all */
};

/* A place of the capture that differs from the truth. */
struct jp_mapping_difference {
	const char *metric, *cause;
	uint64_t start, end;
	const struct jp_executable *truth; /* NULL: nothing is there */
	const struct jp_executable *last;  /* that was there, then */
	const struct jp_mapping *known;    /* NULL: the capture has nothing */
};

/* Why the capture still holds @known, where @last was (NULL: nothing ever was); "invented": it
 * never was. */
const char *jp_mapping_extra(const struct jp_mapping_differences *all,
			     const struct jp_executable *last, const struct jp_mapping *known,
			     uint64_t time);
/* Makes an exception of @different, and adds it to *@count, unless it is one already. 0 or
 * -ENOMEM. */
int jp_mapping_differ(struct jp_mapping_differences *all, const struct jp_mapping_point *point,
		      const struct jp_mapping_difference *different, uint64_t *count);
