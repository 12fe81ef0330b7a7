// SPDX-License-Identifier: GPL-2.0-only
// Moves the picture: wheel, keys, pointer and touch.
"use strict";

function zoom(factor, x, y) {
	const view = state.view, time = view.from + (view.to - view.from) * x;
	const at = view.low + (view.high - view.low) * (1 - y);
	view.from = time - (time - view.from) * factor;
	view.to = time + (view.to - time) * factor;
	if (y >= 0) {
		view.low = at - (at - view.low) * factor;
		view.high = at + (view.high - at) * factor;
	}
	drawMoving();
}

function pan(x, y) {
	const view = state.view, time = (view.to - view.from) * x, at = (view.high - view.low) * y;
	view.from += time;
	view.to += time;
	view.low += at;
	view.high += at;
	drawMoving();
}

function resetView() {
	state.view = { from: 0, to: state.picture.length || 1, low: 0, high: 1 };
}

function handleKey(event) {
	const keys = {
		"+": () => zoom(0.7, 0.5, 0.5), "-": () => zoom(1.4, 0.5, 0.5),
		ArrowLeft: () => pan(-0.1, 0), ArrowRight: () => pan(0.1, 0),
		ArrowUp: () => pan(0, 0.1), ArrowDown: () => pan(0, -0.1),
		0: () => { resetView(); draw(); }, Escape: () => { state.pinned = null; },
	};
	if (keys[event.key]) {
		keys[event.key]();
		event.preventDefault();
	}
}

function watchPointer(canvas) {
	const touches = new Map();
	let moved = false;
	canvas.addEventListener("wheel", (event) => {
		event.preventDefault();
		zoom(event.deltaY < 0 ? 0.8 : 1.25, event.offsetX / canvas.clientWidth,
			event.shiftKey ? -1 : event.offsetY / canvas.clientHeight);
	}, { passive: false });
	canvas.addEventListener("pointerdown", (event) => {
		touches.set(event.pointerId, event);
		canvas.setPointerCapture(event.pointerId);
		moved = false;
	});
	canvas.addEventListener("pointermove", (event) => {
		const last = touches.get(event.pointerId);
		if (!last)
			return point(event.offsetX, event.offsetY, false);
		const others = [...touches.values()].filter((one) => one.pointerId !== event.pointerId);
		if (others.length) {
			const spread = (one) => Math.hypot(one.offsetX - others[0].offsetX, one.offsetY - others[0].offsetY) || 1;
			zoom(spread(last) / spread(event), event.offsetX / canvas.clientWidth, event.offsetY / canvas.clientHeight);
		} else if (moved || Math.hypot(event.offsetX - last.offsetX, event.offsetY - last.offsetY) > 3) {
			moved = true;
			pan((last.offsetX - event.offsetX) / canvas.clientWidth, (event.offsetY - last.offsetY) / canvas.clientHeight);
		} else {
			return;
		}
		touches.set(event.pointerId, event);
	});
	for (const name of ["pointerup", "pointercancel"])
		canvas.addEventListener(name, (event) => {
			touches.delete(event.pointerId);
			if (name === "pointerup" && !moved)
				point(event.offsetX, event.offsetY, true);
		});
	canvas.addEventListener("keydown", handleKey);
}
