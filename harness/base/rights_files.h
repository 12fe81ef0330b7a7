/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* From now on no file can be written to, made or run by its path (Landlock, from 5.13); what is
 * open stays. It needs PR_SET_NO_NEW_PRIVS. 0 or -errno. */
int jp_rights_read_only(void);
