package workload;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * A program that counts what a true profile of it must show: java workload.Workload ACTIVITY…
 *
 * <p>Activities are cpu, allocations, locks, variety, threads and throughput; "rest" is none. It
 * prints "ready" when they have begun. To each line of its input it answers with a line of JSON:
 * every counter by its name, "vm.metaspaceBytes", and "nowNs", the time of its own clock. With an
 * activity's name on the line it first starts that; after "pause" all activities rest at the end of
 * their turn, until "resume". It ends with its input. Nothing else is ever printed.
 */
public final class Workload {
    private static final Map<String, AtomicLong> COUNTERS = new ConcurrentSkipListMap<>();
    private static volatile boolean paused;

    private Workload() {}

    static AtomicLong counter(String name) {
        return COUNTERS.computeIfAbsent(name, n -> new AtomicLong());
    }

    /** Takes turns in a thread of that name, without end except that of the program. */
    static void repeat(String name, Runnable turn) {
        start(
                name,
                () -> {
                    for (; ; ) {
                        if (paused) {
                            LockSupport.parkNanos(5_000_000);
                        } else {
                            turn.run();
                        }
                    }
                });
    }

    /** Starts a thread that does not keep the program alive. */
    static Thread start(String name, Runnable body) {
        Thread t = new Thread(body, name);
        t.setDaemon(true);
        t.start();
        return t;
    }

    private static void startActivity(String name) {
        switch (name) {
            case "cpu":
                Cpu.start();
                break;
            case "allocations":
                Allocations.start();
                break;
            case "locks":
                Locks.start();
                break;
            case "variety":
                Variety.start();
                break;
            case "threads":
                ManyThreads.start();
                break;
            case "throughput":
                Throughput.start();
                break;
            case "pause":
                paused = true;
                break;
            case "resume":
                paused = false;
                break;
            case "rest":
                break;
            default:
                throw new IllegalArgumentException(name);
        }
    }

    private static long metaspaceBytes() {
        return ManagementFactory.getMemoryPoolMXBeans().stream()
                .filter(pool -> pool.getName().equals("Metaspace"))
                .mapToLong(pool -> pool.getUsage().getUsed())
                .sum();
    }

    private static String answer() {
        // first all values, because formatting them takes long before it is compiled
        Map<String, Long> now = new TreeMap<>();
        COUNTERS.forEach((name, value) -> now.put(name, value.get()));
        now.put("vm.metaspaceBytes", metaspaceBytes());
        now.put("nowNs", System.nanoTime());
        StringBuilder s = new StringBuilder();
        now.forEach((name, value) -> s.append(String.format(", \"%s\": %d", name, value)));
        return "{" + s.substring(2) + "}";
    }

    public static void main(String[] activities) throws IOException {
        List<String> wanted = Arrays.asList(activities);
        wanted.forEach(Workload::startActivity);
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (!line.isEmpty()) {
                startActivity(line);
            }
            System.out.println(answer());
        }
    }
}
