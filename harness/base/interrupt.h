/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Resets inherited signal settings: a parent may ignore SIGCHLD, which would hide children's ends,
 * or block the signals that end us. */
void jp_interrupt_inherited(void);
/* Makes a write beyond the file size limit fail, as on a full disk, instead of ending the
 * process. */
void jp_interrupt_ignore_size_limit(void);
/* Restores the default signal actions in a child before its exec. */
void jp_interrupt_as_usual(void);

/* Restores the default action of watched signals in a child that must end at once. */
void jp_interrupt_let_go(void);

/* Turns SIGINT, SIGTERM and SIGHUP into an event for poll(), so that a run can clean up first.
 * Returns 0 or -errno. */
int jp_interrupt_watch(void);
/* Gives a child that continues with a part of the work its own handling of signals. Returns 0 or
 * -errno. */
int jp_interrupt_own(void);
/* Returns a descriptor that is readable after a signal; -1 if none is watched. */
int jp_interrupt_fd(void);
/* Returns the signal that came, or 0. */
int jp_interrupt_signal(void);
/* Continues after the signal that came: jp_interrupt_signal() returns 0 until the next one. */
void jp_interrupt_defer(void);
/* Ends by the signal that came, deferred or not, so that the shell sees it. Returns if none came.
 */
void jp_interrupt_die(void);
