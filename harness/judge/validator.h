/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_VALIDATOR_H
#define JP_VALIDATOR_H

#include "harness/base/error.h"
#include "harness/judge/evidence.h"
#include "harness/judge/findings.h"
#include "harness/base/registry.h"

/* A pure function of evidence. @add_back: judge the capture as if it had held that (controls).
 * Returns -errno only where it could not judge at all; a bad capture is a finding. */
struct jp_validator {
	const char *name;
	const char *help;
	int (*judge)(const struct jp_evidence *evidence, enum jp_left_out add_back,
		     struct jp_findings *findings, struct jp_error *err);
};

#endif
