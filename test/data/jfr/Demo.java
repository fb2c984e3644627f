import java.util.*;
import java.util.concurrent.locks.*;
import java.util.function.*;

public class Demo {
	static volatile Object sink;
	static final Object monitor = new Object();
	static final ReentrantLock lock = new ReentrantLock();

	interface Greeter { long greet(int n); }

	static long burn(int n) {
		long x = n;
		for (int i = 0; i < n; i++)
			x = x * 31 + (x >>> 7);
		return x;
	}

	static void allocate() {
		pause(5);
		for (int i = 0; i < 500; i++)
			sink = new byte[1000];
		sink = new long[200000];
	}

	static void contend() throws InterruptedException {
		synchronized (monitor) {
			Thread.sleep(3);
		}
		lock.lock();
		try {
			Thread.sleep(3);
		} finally {
			lock.unlock();
		}
	}

	static void pause(long ms) {
		try {
			Thread.sleep(ms);
		} catch (InterruptedException e) {
			Thread.currentThread().interrupt();
		}
	}

	static void await() throws InterruptedException {
		synchronized (monitor) {
			monitor.wait(25);
		}
	}

	static void until(long end, Runnable body) {
		Thread t = new Thread(() -> {
			while (System.nanoTime() < end)
				body.run();
		});
		t.setDaemon(true);
		t.start();
	}

	static void contendQuietly() {
		try {
			contend();
			await();
		} catch (InterruptedException e) {
			Thread.currentThread().interrupt();
		}
	}

	public static void main(String[] args) throws Exception {
		long end = System.nanoTime() + Long.parseLong(args[0]) * 1000000L;
		Greeter proxy = (Greeter) java.lang.reflect.Proxy.newProxyInstance(
			Demo.class.getClassLoader(), new Class<?>[] {Greeter.class},
			(p, m, a) -> burn((Integer) a[0]));
		LongSupplier lambda = () -> burn(300000);
		until(end, Demo::contendQuietly);
		until(end, Demo::contendQuietly);
		until(end, Demo::allocate);
		while (System.nanoTime() < end)
			sink = lambda.getAsLong() + proxy.greet(200000);
	}
}
