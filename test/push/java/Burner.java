/** Burns CPU and allocates in leaf() until its input ends. */
public class Burner {
	static Object kept;

	static void leaf(long untilMs) {
		while (System.currentTimeMillis() < untilMs)
			kept = new byte[1000];
	}

	static void readInput() {
		try {
			while (System.in.read() >= 0)
				continue;
		} catch (java.io.IOException e) {
			throw new java.io.UncheckedIOException(e);
		}
	}

	public static void main(String[] args) throws Exception {
		Thread input = new Thread(Burner::readInput);
		input.start();
		while (input.isAlive()) {
			leaf(System.currentTimeMillis() + 50);
			Thread.sleep(200);
		}
	}
}
