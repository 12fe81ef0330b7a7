/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The benchmark's side of the gate protocol (docs/gate-protocol.md): whoever watches is told who we
 * are and when to look. Each call returns when it was answered, and stands in the truth as a mark
 * "gate.announce", "gate.start" or "gate.stop" whose bracket holds request and answer.
 * All return 0 or -errno, with the reason on stderr.
 */

/*
 * @where: the FIFOs @where.ctl and @where.ack. NULL: $JITPROOF_GATE. Where that is not set nobody
 * watches by intervals, and the calls below do nothing.
 */
int jp_gate_open(const char *where);
int jp_gate_announce(void);
int jp_gate_start(void);
int jp_gate_stop(void);
