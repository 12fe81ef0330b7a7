/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

/* From now on no system call that is not needed to read, to compute and to write to what is open
 * (seccomp); messages go through @channel and, unless it is 0, @other alone. It needs
 * PR_SET_NO_NEW_PRIVS. @openat2: files may be opened in that way, which nobody sees through here.
 * 0 or -errno. */
int jp_rights_calls(int channel, int other, bool openat2);
