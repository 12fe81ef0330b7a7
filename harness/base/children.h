/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Makes this process the parent of orphaned descendants, so that it can end all of them. */
void jp_children_adopt(void);
/* Kills and reaps every child, and their children as they become ours, as far as /proc shows
 * them. */
void jp_children_end(void);
