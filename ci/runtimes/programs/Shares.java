// SPDX-License-Identifier: GPL-2.0-only
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;

/** As shares.py: a program that knows how much time went into which functions. */
public class Shares {
	static final ThreadMXBean BEAN = ManagementFactory.getThreadMXBean();
	static final Map<String, long[]> TRUTH = new TreeMap<>();
	static volatile long result;

	static void hot(int count) {
		long number = 0;
		for (int i = 0; i < count; i++)
			number += number << 1 ^ i;
		result = number;
	}

	static void warm(int count) {
		long number = 1;
		for (int i = 0; i < count; i++)
			number = number * 31 + i;
		result = number;
	}

	static void deep(int depth, int count) {
		if (depth > 0)
			deep(depth - 1, count);
		else
			warm(count);
	}

	static void outer(int count) {
		hot(count);
	}

	static void note(String path, long wall, long cpu) {
		long[] sums = TRUTH.computeIfAbsent(path, name -> new long[2]);
		sums[0] += wall;
		sums[1] += cpu;
	}

	static long[] spent(String path, long[] before) {
		long wall = System.nanoTime();
		long cpu = BEAN.getCurrentThreadCpuTime();
		long after = System.nanoTime();
		note(path, wall - before[0], cpu - before[1]);
		note("main", after - wall, 0);
		return new long[] {after, cpu};
	}

	static String json() {
		StringBuilder text = new StringBuilder("{");
		for (Map.Entry<String, long[]> one : TRUTH.entrySet())
			text.append(text.length() > 1 ? ", " : "").append('"').append(one.getKey())
				.append("\": ").append(Arrays.toString(one.getValue()));
		return text.append("}").toString();
	}

	public static void main(String[] arguments) throws Exception {
		System.out.println("ready");
		long[] now = {System.nanoTime(), BEAN.getCurrentThreadCpuTime()};
		while (System.in.available() == 0) {
			now = spent("main", now);
			for (int i = 0; i < 4; i++)
				outer(6000000);
			now = spent("main;outer;hot", now);
			for (int i = 0; i < 4; i++)
				warm(3000000);
			now = spent("main;warm", now);
			for (int i = 0; i < 4; i++)
				deep(8, 2000000);
			now = spent("main;" + "deep;".repeat(9) + "warm", now);
			System.out.println("round");
		}
		System.out.println(json());
	}
}
