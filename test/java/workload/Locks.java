package workload;

import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Threads that wait for each other's locks, and threads that wait for nothing but work.
 *
 * <p>Counters: locks.monitor.waits and locks.monitor.waitedNs for a synchronized block, and
 * locks.reentrant.waits and locks.reentrant.waitedNs for a ReentrantLock. A lock is held much
 * longer than a busy machine needs to notice that it is free. Of the two threads of a pair, one
 * holds the lock for HELD_MS out of twice that time, and the other takes it at once after.
 */
final class Locks {
    private static final long HELD_MS = 20;
    private static final int PAIRS = 4;
    /** Idle workers: what they wait for is not a lock. */
    static final ExecutorService IDLE = Executors.newFixedThreadPool(4, Locks::daemon);
    static final BlockingQueue<String> NEVER = new ArrayBlockingQueue<>(1);

    private Locks() {}

    private static Thread daemon(Runnable r) {
        Thread t = new Thread(r, "idle");
        t.setDaemon(true);
        return t;
    }

    static void start() {
        for (int i = 0; i < PAIRS; i++) {
            Object monitor = new Object();
            ReentrantLock lock = new ReentrantLock();
            for (int k = 0; k < 2; k++) {
                Workload.repeat("monitor", () -> enterMonitor(monitor));
                Workload.repeat("reentrant", () -> enterReentrant(lock));
            }
        }
        for (int i = 0; i < 4; i++) {
            IDLE.execute(() -> Workload.counter("locks.idle").incrementAndGet());
        }
        Workload.start("queue", Locks::takeNothing);
    }

    private static void rest(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void enterMonitor(Object monitor) {
        long begin = System.nanoTime();
        synchronized (monitor) {
            count("monitor", System.nanoTime() - begin);
            rest(HELD_MS);
        }
        rest(HELD_MS / 2);
    }

    private static void enterReentrant(ReentrantLock lock) {
        long begin = System.nanoTime();
        lock.lock();
        try {
            count("reentrant", System.nanoTime() - begin);
            rest(HELD_MS);
        } finally {
            lock.unlock();
        }
        rest(HELD_MS / 2);
    }

    /** An uncontended lock takes microseconds. */
    private static void count(String kind, long ns) {
        AtomicLong waited = Workload.counter("locks." + kind + ".waitedNs");
        if (ns > 100_000) {
            waited.addAndGet(ns);
            Workload.counter("locks." + kind + ".waits").incrementAndGet();
        }
    }

    private static void takeNothing() {
        try {
            NEVER.take();
        } catch (InterruptedException e) {
            LockSupport.park();
        }
    }
}
