import java.util.Arrays; import java.util.function.IntToLongFunction;
public class KnownChains {
	interface Shape { long area(int n); }
	static class Square implements Shape { public long area(int n) { return burn(n); } }
	static class Circle implements Shape { public long area(int n) { return burn(n) + 1; } }
	static class Point implements Shape { public long area(int n) { return burn(n) + 2; } }
	static final Shape[] SHAPES = {new Square(), new Circle(), new Point()};
	static volatile boolean rare;
	static long sink;
	static long burn(int n) {
		long x = n;
		for (int i = 0; i < 3000; i++)
			x = x * 6364136223846793005L + (x >>> 13);
		return x;
	}
	static long deep(int depth, int n) {
		if (depth == 0)
			return burn(n);
		return deep(depth - 1, n) + 1;
	}
	static long outer(int n) {
		return middle(n) + 1;
	}
	static long middle(int n) {
		return inner(n) * 3;
	}
	static long inner(int n) {
		return burn(n) + 7;
	}
	static long shapes(int n) {
		long sum = 0;
		for (Shape s : SHAPES)
			sum += s.area(n);
		return sum;
	}
	static long lambda(int n) {
		IntToLongFunction f = k -> burn(k) + n;
		return f.applyAsLong(n);
	}
	static long caught(int n) {
		try {
			return thrower(n);
		} catch (IllegalStateException e) {
			return burn(n);
		}
	}
	static long thrower(int n) {
		if (n % 3 != 0)
			throw new IllegalStateException();
		return burn(n);
	}
	static long sorted(int n) {
		Integer[] a = new Integer[8];
		for (int i = 0; i < a.length; i++)
			a[i] = (i * 5 + n) & 7;
		Arrays.sort(a, (x, y) -> (int) (burn(x) & 0) + x - y);
		return a[0];
	}
	/* Compiled as if the branch were never taken; when it is, the frame is given up. */
	static long given(int n) {
		long x = burn(n);
		if (n % 100 == 99)
			x += late(n);
		return x;
	}
	static long late(int n) {
		return burn(n) + 5;
	}
	static long called(int n) throws Exception {
		return (Long) KnownChains.class.getDeclaredMethod("burn", int.class).invoke(null, n);
	}
	static void round(int n) throws Exception {
		sink += outer(n);
		sink += deep(20, n);
		sink += shapes(n);
		sink += lambda(n);
		sink += caught(n);
		sink += sorted(n);
		sink += given(n);
		sink += called(n);
	}
	static void rounds() {
		try {
			for (int n = 0;; n++)
				round(n);
		} catch (Exception e) {
			System.err.println(e);
		}
	}
	public static void main(String[] args) throws Exception {
		if (args.length > 0) /* as a virtual thread */
			((Thread) Thread.class.getMethod("startVirtualThread", Runnable.class)
				.invoke(null, (Runnable) KnownChains::rounds)).join();
		else
			rounds();
	}
}
