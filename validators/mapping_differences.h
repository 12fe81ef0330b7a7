/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/map.h"
#include "harness/judge/validator.h"
#include "harness/model/oracle/executable.h"
#include "validators/mapping_points.h"

/* Differences between a capture's executable memory and the truth's: each counts once. */
struct jp_mapping_differences {
	struct jp_view *view;
	const struct jp_executables *truth;
	struct jp_map listed; /* differences that are reported already */
	bool nothing;         /* the capture knows no mapping of the process at this point */
};

/* A place at which the capture differs from the truth. */
struct jp_mapping_difference {
	const char *metric, *cause;
	uint64_t start, end;
	const struct jp_executable *truth; /* NULL: nothing is there */
	const struct jp_executable *last;  /* the last mapping that was there */
	const struct jp_mapping *known;    /* NULL: the capture has nothing */
};

/* Returns why the capture still holds @known where @last was (NULL: nothing ever was). "invented":
 * @known never existed. */
const char *jp_mapping_extra(const struct jp_mapping_differences *all,
			     const struct jp_executable *last, const struct jp_mapping *known,
			     uint64_t time);
/* Reports @different and adds it to *@count, unless it is reported already. Returns 0 or
 * -ENOMEM. */
int jp_mapping_differ(struct jp_mapping_differences *all, const struct jp_mapping_point *point,
		      const struct jp_mapping_difference *different, uint64_t *count);
