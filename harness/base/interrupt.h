/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Resets signal settings that this process inherited: a parent may have ignored SIGCHLD, which
 * would hide the exits of children, or blocked signals that end this process or that workloads
 * handle. */
void jp_interrupt_reset_inherited(void);
/* Makes a write beyond the file size limit fail, as on a full disk, instead of ending the
 * process. */
void jp_interrupt_ignore_size_limit(void);
/* Restores the default actions of SIGPIPE and SIGXFSZ in a child before its exec. */
void jp_interrupt_restore_pipe_signals(void);

/* Restores the default action of SIGINT, SIGTERM and SIGHUP, in a child that must end at once on
 * these signals. */
void jp_interrupt_restore_defaults(void);

/* Turns SIGINT, SIGTERM and SIGHUP into an event for poll(), so that a run can clean up first.
 * Returns 0 or -errno. */
int jp_interrupt_watch(void);
/* Watches signals in a forked child as jp_interrupt_watch() does, with an event of the child's own.
 * Returns 0 or -errno. */
int jp_interrupt_watch_in_child(void);
/* Returns a descriptor that is readable after a watched signal arrived; -1 if no signal is
 * watched. */
int jp_interrupt_fd(void);
/* Returns the last watched signal that arrived, or 0. */
int jp_interrupt_signal(void);
/* Lets the work continue after a signal: jp_interrupt_signal() returns 0 until the next signal. */
void jp_interrupt_defer(void);
/* Ends this process by the watched signal that arrived, deferred or not, so that the shell sees it.
 * Returns if no such signal arrived. */
void jp_interrupt_die(void);
