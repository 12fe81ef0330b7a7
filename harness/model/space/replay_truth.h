/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_REPLAY_TRUTH_H
#define JP_REPLAY_TRUTH_H

#include "harness/model/space/replay.h"
#include "harness/format/truth/read.h"

/* Applies one act of the truth (MAP, PROTECT, REMAP, UNMAP, process start by fork or exec) to
 * @replay, under the names that the kernel gives such mappings in its records. -ENOMEM at worst. */
int jp_replay_truth(struct jp_replay *replay, const struct jp_truth_act *act);

#endif
