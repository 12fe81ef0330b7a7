/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Makes this process the parent of orphaned descendants (PR_SET_CHILD_SUBREAPER), so that
 * jp_children_kill_all() can kill all of them. */
void jp_children_adopt_orphans(void);
/* Kills and reaps every child of this process that /proc shows, then the orphans that become its
 * children, until none is left. */
void jp_children_kill_all(void);
