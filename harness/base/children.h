/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Orphans of our children become our children: none is left over unseen. */
void jp_children_adopt(void);
/* Kills and reaps every child that we have, and theirs as they become ours. What /proc does not
 * tell of is left. */
void jp_children_end(void);
