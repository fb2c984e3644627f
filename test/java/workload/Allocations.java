package workload;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Sites that allocate objects of one size each: far below an allocation sampler's interval, about
 * as large, and far above; some 2 MB in a turn, 50 turns a second at most. Each has a thread of its
 * own, because the JVM attributes the rest of a buffer, lost when an object does not fit, to the
 * thread's next sample; a sample of a word would count as twenty thousand words, so the sites
 * allocate nothing else. Counters: allocations.SITE.bytes (headers and padding included) and
 * allocations.SITE.objects. Sizes assume 16 bytes of header of an array, as every HotSpot with
 * compressed class pointers has.
 */
final class Allocations {
    private static final int HEADER = 16;
    private static final int SMALL = 1024;
    private static final int MIDDLE = 384 << 10;
    private static final int LARGE = 2 << 20;
    private static final Allocations SMALL_SITE = new Allocations("small", SMALL);
    private static final Allocations MIDDLE_SITE = new Allocations("middle", MIDDLE);
    private static final Allocations LARGE_SITE = new Allocations("large", LARGE);
    static volatile Object sink;

    private final long size;
    private final AtomicLong objects;
    private final AtomicLong bytes;

    private Allocations(String site, long size) {
        this.size = size;
        objects = Workload.counter("allocations." + site + ".objects");
        bytes = Workload.counter("allocations." + site + ".bytes");
    }

    static void start() {
        Workload.repeat("allocations-small", Allocations::small);
        Workload.repeat("allocations-middle", Allocations::middle);
        Workload.repeat("allocations-large", Allocations::large);
    }

    private void count(long n) {
        objects.addAndGet(n);
        bytes.addAndGet(n * size);
        LockSupport.parkNanos(20_000_000);
    }

    private static void small() {
        for (int i = 0; i < 2048; i++) {
            sink = new byte[SMALL - HEADER];
        }
        SMALL_SITE.count(2048);
    }

    private static void middle() {
        for (int i = 0; i < 5; i++) {
            sink = new byte[MIDDLE - HEADER];
        }
        MIDDLE_SITE.count(5);
    }

    private static void large() {
        sink = new byte[LARGE - HEADER];
        LARGE_SITE.count(1);
    }
}
