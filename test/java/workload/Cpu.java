package workload;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Two threads that spend their CPU time in three methods, 60, 30 and 10 per cent of it. Which is
 * next is drawn by lot, and so is how long it runs, so that no sampling interval is in step with
 * them. Counters: cpu.heavyNs, cpu.middleNs, cpu.lightNs, by the clock of the thread's CPU time.
 */
final class Cpu {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final AtomicLong HEAVY = Workload.counter("cpu.heavyNs");
    private static final AtomicLong MIDDLE = Workload.counter("cpu.middleNs");
    private static final AtomicLong LIGHT = Workload.counter("cpu.lightNs");
    static volatile long sink;

    private Cpu() {}

    static void start() {
        Workload.repeat("cpu-1", Cpu::turn);
        Workload.repeat("cpu-2", Cpu::turn);
    }

    /** Some microseconds of arithmetic that no compiler removes. */
    static long work(long x) {
        for (int i = 0; i < 20000; i++) {
            x = x * 6364136223846793005L + 1442695040888963407L;
        }
        return x;
    }

    /** Works until the thread has used so much CPU time; returns how much it has used. */
    static long burn(long ns) {
        long begin = THREADS.getCurrentThreadCpuTime();
        long used;
        long x = begin;
        do {
            x = work(x);
            used = THREADS.getCurrentThreadCpuTime() - begin;
        } while (used < ns);
        sink = x;
        return used;
    }

    private static void heavy(long ns) {
        HEAVY.addAndGet(burn(ns));
    }

    private static void middle(long ns) {
        MIDDLE.addAndGet(burn(ns));
    }

    private static void light(long ns) {
        LIGHT.addAndGet(burn(ns));
    }

    private static void turn() {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        long ns = random.nextLong(500_000, 2_500_000);
        int lot = random.nextInt(10);
        if (lot < 6) {
            heavy(ns);
        } else if (lot < 9) {
            middle(ns);
        } else {
            light(ns);
        }
    }
}
