/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The benchmark's side of the gate protocol (docs/gate-protocol.md): informs a profiler which
 * process to watch and when. Each call returns after the answer and adds a mark "gate.announce",
 * "gate.start" or "gate.stop" to the truth, whose times enclose request and answer. All return 0 or
 * -errno and print the reason to stderr.
 */

/* Opens the FIFOs @place_text.ctl and @place_text.ack. @place_text NULL: uses $JITPROOF_GATE. If
 * that is unset, no profiler watches intervals, and the calls below do nothing. */
int jp_gate_open(const char *place_text);
int jp_gate_announce(void);
int jp_gate_start(void);
int jp_gate_stop(void);
