package workload;

import java.io.FileInputStream;
import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongUnaryOperator;
import java.util.zip.Deflater;

/**
 * Stacks of all kinds, each about a millisecond of CPU time in turn: lambdas, proxies, reflection,
 * exceptions, native code, the kernel, and a recursion deeper than profilers look. Counter:
 * variety.rounds.
 */
final class Variety {
    private static final long TURN_NS = 1_000_000;
    private static final int DEEP = 3000;
    private static final AtomicLong ROUNDS = Workload.counter("variety.rounds");
    private static final Service SERVICE = proxy();
    private static final byte[] TEXT = new byte[20000];
    private static final byte[] OUT = new byte[30000];
    static volatile long sink;

    interface Service {
        long call(long ns);
    }

    private Variety() {}

    static void start() {
        for (int i = 0; i < TEXT.length; i++) {
            TEXT[i] = (byte) Cpu.work(i);
        }
        Workload.repeat("variety", Variety::turn);
    }

    private static long inLambda(LongUnaryOperator f) {
        return f.applyAsLong(TURN_NS);
    }

    private static Service proxy() {
        InvocationHandler handler = (self, method, args) -> Cpu.burn((Long) args[0]);
        return (Service)
                Proxy.newProxyInstance(
                        Variety.class.getClassLoader(), new Class<?>[] {Service.class}, handler);
    }

    static long reflected() {
        return Cpu.burn(TURN_NS);
    }

    private static long inExceptions() {
        long sum = 0;
        for (int i = 0; i < 200; i++) {
            try {
                throw new IllegalStateException("turn " + i);
            } catch (IllegalStateException e) {
                sum += e.getStackTrace().length;
            }
        }
        return sum;
    }

    private static long inNative() {
        Deflater d = new Deflater(9);
        d.setInput(TEXT);
        d.finish();
        int n = d.deflate(OUT);
        d.end();
        return n;
    }

    private static long inKernel(byte[] buffer) throws IOException {
        try (FileInputStream zeros = new FileInputStream("/dev/zero")) {
            long sum = 0;
            for (int i = 0; i < 20; i++) {
                sum += zeros.read(buffer);
            }
            return sum;
        }
    }

    private static long deep(int left) {
        return left == 0 ? Cpu.burn(TURN_NS) : deep(left - 1) + 1;
    }

    private static void turn() {
        try {
            sink = inLambda(ns -> Cpu.burn(ns));
            sink = SERVICE.call(TURN_NS);
            sink = (Long) Variety.class.getDeclaredMethod("reflected").invoke(null);
            sink = inExceptions();
            sink = inNative();
            sink = inKernel(new byte[100_000]);
            sink = deep(DEEP);
            ROUNDS.incrementAndGet();
        } catch (ReflectiveOperationException | IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
