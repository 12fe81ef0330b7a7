/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_INTERRUPT_H
#define JP_INTERRUPT_H

/* SIGINT, SIGTERM and SIGHUP as something that poll() sees, so that a run can clean up first. */
int jp_interrupt_watch(void);
/* Readable once a signal came; -1 when nothing is watched. */
int jp_interrupt_fd(void);
/* The signal that came, or 0. */
int jp_interrupt_signal(void);
/* Dies of the signal that came, so that the shell sees it. Returns when none came. */
void jp_interrupt_die(void);

#endif
