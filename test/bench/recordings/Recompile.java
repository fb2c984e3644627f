import java.io.File;
import java.util.ArrayList;
import java.util.List;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/** Runs the JDK's compiler on the given files again and again: java Recompile SECONDS DIR FILE… */
public final class Recompile {
    private Recompile() {}

    private static void compile(List<File> files, String dir) {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, null);
        compiler.getTask(
                        null,
                        manager,
                        null,
                        List.of("-d", dir),
                        null,
                        manager.getJavaFileObjectsFromFiles(files))
                .call();
    }

    public static void main(String[] args) throws InterruptedException {
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
        List<File> files = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();

        for (int i = 2; i < args.length; i++) {
            files.add(new File(args[i]));
        }
        for (int i = 0; i < 2; i++) {
            Thread t =
                    new Thread(
                            () -> {
                                while (System.nanoTime() < end) {
                                    compile(files, args[1]);
                                }
                            });
            t.start();
            threads.add(t);
        }
        for (Thread t : threads) {
            t.join();
        }
    }
}
