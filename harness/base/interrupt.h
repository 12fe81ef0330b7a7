/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Whoever started us may ignore SIGCHLD, and no child's end would be told, or block the signals
 * that end us: not here. */
void jp_interrupt_inherited(void);
/* From now on a write beyond the limit on file sizes fails, as on a full disk: no death without a
 * word. */
void jp_interrupt_size_limit(void);
/* In a child, before it execs: what we ignore does what it usually does. */
void jp_interrupt_as_usual(void);

/* In a child that is to end at once: what was watched ends it again. */
void jp_interrupt_let_go(void);

/* SIGINT, SIGTERM and SIGHUP as something that poll() sees, so that a run can clean up first. */
int jp_interrupt_watch(void);
/* Readable once a signal came; -1 when nothing is watched. */
int jp_interrupt_fd(void);
/* The signal that came, or 0. */
int jp_interrupt_signal(void);
/* Dies of the signal that came, so that the shell sees it. Returns when none came. */
void jp_interrupt_die(void);
