package oracle;

import org.apache.kafka.common.utils.Time;

import java.util.function.Supplier;

/** A clock that stands still unless told. */
final class FixedTime implements Time {

    long now;

    FixedTime(long now) {
        this.now = now;
    }

    @Override
    public long milliseconds() {
        return now;
    }

    @Override
    public long nanoseconds() {
        return now * 1_000_000;
    }

    @Override
    public void sleep(long ms) {
        now += ms;
    }

    @Override
    public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {
        throw new UnsupportedOperationException();
    }
}
