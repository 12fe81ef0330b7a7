/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Marks: records all executable mappings of this process in the truth, as /proc shows them.
 * Operations on emitted code are in the truth one by one; marks add the libraries, the program, the
 * vDSO and the name that the kernel itself gives to each mapping. */
void jp_maps_record_all(void);
/* Calls jp_maps_record_all() unless the last call was recent in relation to its duration. For
 * callers that would otherwise mark too often. */
void jp_maps_record_seldom(void);
/* Returns the text of @error, a value of errno. If the error is ENOMEM and this process has as many
 * mappings as the kernel allows, the text adds their number, the limit and the remedy. Call it
 * before unmapping. The text is valid until the next call of this thread. */
const char *jp_maps_describe_error(int error);
/* Makes the lock of jp_maps_record_all() usable in a forked child: another thread of the parent may
 * have held it. Call this first in the child. */
void jp_maps_forked(void);
