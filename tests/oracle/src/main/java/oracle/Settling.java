package oracle;

import org.apache.kafka.server.util.Scheduler;

import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Delayed;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/** A scheduler whose one-time tasks wait for `settle`, whatever their delay; periodic tasks never run. */
final class Settling implements Scheduler {

    private final Queue<Runnable> waiting = new ConcurrentLinkedQueue<>();

    @Override
    public void startup() { }

    @Override
    public void shutdown() { }

    @Override
    public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
        if (periodMs < 0) waiting.add(task);
        return new Promise();
    }

    @Override
    public void resizeThreadPool(int newSize) { }

    /** Runs every waiting task, in order, and those that they schedule. */
    void settle() {
        for (Runnable task = waiting.poll(); task != null; task = waiting.poll()) task.run();
    }

    /** Runs the waiting tasks, in order, so many times: not for ever those that schedule themselves anew. */
    void settle(int rounds) {
        for (int round = 0; round < rounds; round++) {
            List<Runnable> now = new ArrayList<>();
            for (Runnable task = waiting.poll(); task != null; task = waiting.poll()) now.add(task);
            now.forEach(Runnable::run);
        }
    }

    /** Forgets every waiting task, as a killed process does. */
    void forget() {
        waiting.clear();
    }

    private static final class Promise extends CompletableFuture<Void> implements ScheduledFuture<Void> {
        @Override
        public long getDelay(TimeUnit unit) {
            return 0;
        }

        @Override
        public int compareTo(Delayed other) {
            return 0;
        }
    }
}
