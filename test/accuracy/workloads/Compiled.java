/** Work in code that HotSpot compiles, and in functions of its C++ code: Compiled SECONDS */
public class Compiled {
    static volatile int sink;

    static void accSpin(int n) {
        int x = sink | 1;
        for (int i = 0; i < n; i++) x = x * 1664525 + 1013904223 + (x >> 7);
        sink = x;
    }

    static int accRecurse(int n) {
        if (n == 0) {
            accSpin(100000);
            return 1;
        }
        return accRecurse(n - 1) + 1;
    }

    static void accAllocate() {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 500; i++) text.append(String.valueOf(i * 7919)).append(' ');
        sink += text.toString().split(" ").length;
    }

    static double cpuSeconds() {
        return ProcessHandle.current().info().totalCpuDuration().get().toMillis() / 1e3;
    }

    public static void main(String[] args) {
        double seconds = Double.parseDouble(args[0]);
        while (cpuSeconds() < seconds) {
            accRecurse(10);
            accAllocate();
        }
    }
}
