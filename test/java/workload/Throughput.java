package workload;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Two threads that build, sort and count words as fast as they can: much CPU time and some hundred
 * megabytes of short-lived objects a second. Counter: throughput.operations.
 */
final class Throughput {
    private static final AtomicLong OPERATIONS = Workload.counter("throughput.operations");
    private static final int WORDS = 200;
    static volatile Object sink;

    private Throughput() {}

    static void start() {
        Workload.repeat("throughput-1", Throughput::turn);
        Workload.repeat("throughput-2", Throughput::turn);
    }

    private static String word(int depth, int n) {
        return depth == 0 ? Integer.toString(n, 36) : word(depth - 1, n / 2) + n % 7;
    }

    private static void turn() {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        List<String> words = new ArrayList<>();
        for (int i = 0; i < WORDS; i++) {
            words.add(word(5, random.nextInt(100_000)));
        }
        Collections.sort(words);
        Map<String, Integer> counts = new HashMap<>();
        words.forEach(w -> counts.merge(w.substring(w.length() / 2), 1, Integer::sum));
        sink = counts;
        OPERATIONS.incrementAndGet();
    }
}
