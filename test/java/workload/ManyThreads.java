package workload;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** Threads that come and go, beside many that only wait. Counter: threads.ended. */
final class ManyThreads {
    private static final int PARKED = 100;
    private static final AtomicLong ENDED = Workload.counter("threads.ended");

    private ManyThreads() {}

    static void start() {
        for (int i = 0; i < PARKED; i++) {
            Workload.start("parked-" + i, ManyThreads::park);
        }
        Workload.repeat("starter", ManyThreads::startAndJoin);
    }

    private static void park() {
        for (;;) {
            LockSupport.park();
        }
    }

    private static void startAndJoin() {
        try {
            Workload.start("short", () -> Cpu.burn(500_000)).join();
            ENDED.incrementAndGet();
            Thread.sleep(10);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
