"""Bytes that workers keep and write to stdout themselves, whatever happens to the workers."""

import errno
import os
import signal
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import pytest

from kcli.engine import nursery
from kcli.engine.away import ROOM, WORTH_A_TURN, Kept, Shelf, forgotten, written
from kcli.engine.contract import Outcome
from kcli.engine.crew import Crew
from kcli.engine.errors import OutputError
from kcli.engine.local import inline, pool
from kcli.output.files import write_lines
from kcli.rows import Away, EncodedRows, Row, TextBlock
from tests.engine_suite import shape, units

pytestmark = pytest.mark.slow

LONG = 3
"""Outcomes of a unit, but for the last."""
SIZE = WORTH_A_TURN + 5
ENDLESS = 600


@pytest.fixture
def stdout(tmp_path):
    return tmp_path / "stdout"


@contextmanager
def as_stdout(path):
    """Make a file the stdout of this process, and of workers that begin meanwhile."""
    saved, others = os.dup(1), nursery._nursery
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    os.dup2(file, 1)
    nursery._nursery = None
    try:
        yield
    finally:
        os.dup2(saved, 1)
        for descriptor in (saved, file):
            os.close(descriptor)
        if nursery._nursery is not None:
            nursery._nursery.close()
        nursery._nursery = others


def units_of(count):
    return units(*["answer"] * count)


def pieces(count):
    """Return units that are pieces of a log: workers are given some ahead."""
    return [replace(unit, end=1) for unit in units(*["answer"] * count)]


def data(given, number, size=SIZE):
    return b"%d %d %d\n" % (given.number, given.start, number) * (size // 6)


def texts(given, *, marker=None, at=None, before=None, always=False):
    """Answer with short and long rows of text; die where it is said, once or always."""
    if given.start == at and (always or not os.path.exists(marker)):
        open(marker, "w").close()
        (before or now)(given)
    rows = [
        Row("text", (f"short {given.number} {given.start}",)),
        TextBlock("text", (data(given, 1), bytearray(data(given, 2)), memoryview(b"small\n"))),
        Row("text", ("between",)),
        TextBlock("text", (b"a few\n",)),
        EncodedRows("text", (7, data(given, 3))),
    ]
    rest = replace(given, start=given.start + 1) if given.start < LONG else None
    return Outcome(number=given.number, rows=rows, rest=rest)


def now(_given):
    os.kill(os.getpid(), signal.SIGKILL)


def soon(_given):
    """Die once something more is written, from a thread beside."""
    place = os.lseek(1, 0, os.SEEK_CUR)

    def watch():
        end = time.monotonic() + 5
        while os.lseek(1, 0, os.SEEK_CUR) == place and time.monotonic() < end:
            time.sleep(0)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch).start()


def large(given):
    return Outcome(
        number=given.number,
        rows=[TextBlock("text", (data(given, number, ROOM // 2),)) for number in range(2)],
    )


def write(outcomes, path):
    """Write rows to a file as `-o text` does to stdout; returns all that is not written."""
    told = []

    def lines():
        for outcome in outcomes:
            if not (outcome.rows and isinstance(outcome.rows[-1], Away)):  # more of it is to come
                told.append(replace(outcome, rows=[]))
            for row in outcome.rows:
                if isinstance(row, EncodedRows):
                    yield TextBlock(row.type, (row.buffer,))
                else:
                    yield row if isinstance(row, (TextBlock, Away)) else row.values[0]

    with as_stdout(path), open(1, "wb", closefd=False) as file:
        write_lines(lines(), file, beside=False)
    return shape(told)


def expected(scan, work):
    rows = [row for outcome in inline(scan, work) for row in outcome.rows]
    return b"".join(
        b"".join(row.buffers) if isinstance(row, (TextBlock, EncodedRows)) else row.values[0].encode() + b"\n"
        for row in rows
    )


def test_workers_write_what_is_long_and_everything_stands_in_order(stdout):
    work = units(*["answer"] * 9)
    kinds = []

    def seen():
        for outcome in pool(2, writes=True)(texts, work):
            kinds.append([type(row) for row in outcome.rows])
            yield outcome

    told = write(seen(), stdout)

    assert stdout.read_bytes() == expected(texts, work)
    assert told == shape(replace(outcome, rows=[]) for outcome in inline(texts, work))
    assert kinds == [[Row, Away], [Row, TextBlock, Away], []] * 9 * (LONG + 1)


@pytest.mark.parametrize("made", [units_of, pieces])
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("before", [now, soon])
@pytest.mark.parametrize("at", range(LONG + 1))
def test_a_worker_that_dies_costs_no_byte_and_repeats_none(stdout, tmp_path, at, before, jobs, made):
    work = made(9)
    told = write(
        pool(jobs, writes=True)(partial(texts, marker=str(tmp_path / "died"), at=at, before=before), work),
        stdout,
    )

    assert (tmp_path / "died").exists()
    assert stdout.read_bytes() == expected(texts, work)
    assert told == shape(replace(outcome, rows=[]) for outcome in inline(texts, work))


@pytest.mark.parametrize("made", [units_of, pieces])
@pytest.mark.parametrize("at", range(LONG + 1))
@pytest.mark.parametrize("before", [now, soon])
def test_the_worker_that_is_left_does_what_is_first(stdout, tmp_path, third_fails, at, before, made):
    """It is busy with what comes later, and cannot go on before its turn."""
    work = made(9)
    told = write(
        within(
            20,
            pool(2, writes=True)(partial(texts, marker=str(tmp_path / "died"), at=at, before=before), work),
        ),
        stdout,
    )

    assert stdout.read_bytes() == expected(texts, work)
    assert told == shape(replace(outcome, rows=[]) for outcome in inline(texts, work))


def one_dies_with_another_behind(given, marker):
    """0 and 1 are given to a worker, 2 and 3 to another one, then 4 and 5 to the first, which is done when the other dies."""
    if given.number == 2 and not os.path.exists(marker):
        open(marker, "w").close()
        time.sleep(1.5)
        now(given)
    return one_long(given, is_long=given.number in {3, 4})


def one_dies_while_it_writes(given, marker):
    """0 and 1 are given to a worker, 2 and 3 to another one, which keeps 2 and has no room for 3."""
    if given.number:
        return one_long(given, is_long=True)
    if not os.path.exists(marker):
        if given.start == 0:
            time.sleep(1.5)
            soon(given)
        if given.start == 2:
            open(marker, "w").close()
            time.sleep(ENDLESS)
    rest = replace(given, start=given.start + 1) if given.start < 2 else None
    return replace(one_long(given, is_long=not given.start), rest=rest)


def one_long(given, *, is_long):
    """Answer with so much that a worker has no room for another one, or with so little that it needs none."""
    length = ROOM // 2 + 2 * SIZE if is_long else WORTH_A_TURN // 2
    return Outcome(number=given.number, rows=[TextBlock("text", (b"first\n", data(given, 0, length)))])


@pytest.mark.parametrize("dies", [one_dies_with_another_behind, one_dies_while_it_writes])
def test_what_is_given_once_more_needs_no_room(stdout, tmp_path, third_fails, dies):
    """The worker that is left keeps what comes later, and is done with that, or at more of it."""
    scan, work = partial(dies, marker=str(tmp_path / "died")), pieces(6)
    write(slowly(within(20, pool(2, writes=True)(scan, work))), stdout)

    assert (tmp_path / "died").exists()
    assert stdout.read_bytes() == expected(scan, work)


def slowly(outcomes):
    """Yield outcomes after a while in which whoever makes them has made more."""
    first = next(outcomes)
    time.sleep(0.5)
    yield first
    yield from outcomes


@pytest.fixture
def third_fails(monkeypatch):
    """Let a worker that dies first have no replacement."""
    start, starts = Crew._start, []

    def not_the_third(crew):
        starts.append(crew)
        if starts.count(crew) == 3:
            monkeypatch.setattr(nursery, "start", fails)
        start(crew)
        monkeypatch.setattr(nursery, "start", nursery_start)

    nursery_start = nursery.start
    monkeypatch.setattr(Crew, "_start", not_the_third)


def fails(*_):
    raise OSError(errno.EAGAIN, "no more processes")


def within(seconds, outcomes):
    """Yield outcomes; end the process's wait for the next one after so many seconds."""
    before = signal.signal(signal.SIGALRM, _late)
    try:
        signal.alarm(seconds)
        yield from outcomes
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _late(*_):
    raise TimeoutError("nothing comes any more")


def test_many_units_of_a_chunk_survive_one_that_dies(stdout, tmp_path):
    work = units(*["answer"] * 150)
    write(pool(2, writes=True)(partial(texts, marker=str(tmp_path / "died"), at=1), work), stdout)

    assert stdout.read_bytes() == expected(texts, work)


def only(number, given, **more):
    return texts(given, **more) if given.number == number else texts(given)


@pytest.mark.parametrize("made", [units_of, pieces])
@pytest.mark.parametrize("at", [1, LONG])
def test_a_unit_that_always_kills_spoils_no_other(stdout, tmp_path, at, made):
    work = made(8)
    scan = partial(only, 2, marker=str(tmp_path / "died"), at=at, always=True)
    told = write(pool(2, writes=True)(scan, work), stdout)
    written = stdout.read_bytes()

    assert told == shape(replace(outcome, rows=[]) for outcome in pool(2)(scan, work))
    assert [row[3] and row[3][1] for row in told if row[0] == 2] == [*[None] * at, "worker-died"]
    assert written.endswith(b"".join(expected(texts, [unit]) for unit in work[3:]))


class Deadly(tuple):
    """Buffers that end a worker when half of them are written; it is a thread of its own that writes."""

    __slots__ = ()

    def __iter__(self):
        for number, buffer in enumerate(super().__iter__()):
            if number == len(self) // 2 and threading.current_thread() is not threading.main_thread():
                os.kill(os.getpid(), signal.SIGKILL)
            yield buffer


def one(given, size=SIZE * 8, kind=tuple):
    """Answer with one row of several buffers."""
    whole = data(given, 1, size)
    return Outcome(
        number=given.number,
        rows=[TextBlock("text", kind(whole[at : at + SIZE] for at in range(0, len(whole), SIZE)))],
    )


def shrinks(given, *, marker):
    """Answer with one row; die while that of the second unit is written, of which there is less ever after."""
    if given.number != 1:
        return one(given)
    if os.path.exists(marker):
        return one(given, SIZE)
    open(marker, "w").close()
    return one(given, kind=Deadly)


def dies_writing(given, *, marker):
    """Answer with two rows; die while the first of the third unit is written."""
    kind = tuple
    if given.number == 2 and not os.path.exists(marker):
        open(marker, "w").close()
        kind = Deadly
    return Outcome(
        number=given.number, rows=[*one(given, kind=kind).rows, Row("text", ("between",)), *one(given).rows]
    )


@pytest.mark.parametrize("made", [units_of, pieces])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_worker_that_dies_while_it_writes_costs_no_byte_and_repeats_none(stdout, tmp_path, jobs, made):
    work = made(8)
    scan = partial(dies_writing, marker=str(tmp_path / "died"))
    write(pool(jobs, writes=True)(scan, work), stdout)

    assert (tmp_path / "died").exists()
    assert stdout.read_bytes() == expected(scan, work)


def test_a_file_that_is_not_what_it_was_when_a_worker_died_ends_its_unit_alone(stdout, tmp_path):
    work = units(*["answer"] * 4)
    told = write(pool(2, writes=True)(partial(shrinks, marker=str(tmp_path / "died")), work), stdout)
    written = stdout.read_bytes()

    assert [row[3] and row[3][1] for row in told] == [None, "worker-died", None, None]
    assert written == expected(one, work[:1]) + expected(one, work[1:2])[: 4 * SIZE] + expected(one, work[2:])


def ends_early(given, *, marker):
    """Answer the first unit in three parts, and die while the last is written; ever after die at the second."""
    if given.number or (given.start == 1 and os.path.exists(marker)):
        return now(given) if not given.number else one(given, SIZE)
    if given.start == 2:
        open(marker, "w").close()
        return one(given, kind=Deadly)
    return replace(one(given, SIZE), rest=replace(given, start=given.start + 1))


def test_a_unit_that_does_not_come_as_far_again_costs_no_other(stdout, tmp_path):
    work = units(*["answer"] * 8)  # several in a chunk
    told = write(pool(1, writes=True)(partial(ends_early, marker=str(tmp_path / "died")), work), stdout)
    written = stdout.read_bytes()

    assert [row[0] for row in told if row[3] is not None] == [0]
    assert written.endswith(expected(partial(one, size=SIZE), work[1:]))
    assert [row[0] for row in told] == [0, 0, *range(8)]


def dies_anew(given, *, marker):
    """Answer the first unit in two parts, and die while the first is written; ever after die before."""
    if given.number:
        return one(given, SIZE)
    if given.start:
        time.sleep(ENDLESS)
    if os.path.exists(marker):
        now(given)
    open(marker, "w").close()
    return replace(one(given, kind=Deadly), rest=replace(given, start=1))


@pytest.mark.parametrize("made", [units_of, pieces])
def test_a_unit_that_is_not_made_anew_costs_no_other(stdout, tmp_path, made):
    """Its worker had more of it to tell."""
    work = made(4)
    told = write(
        within(20, pool(2, writes=True)(partial(dies_anew, marker=str(tmp_path / "died")), work)), stdout
    )

    assert [(row[0], row[3] and row[3][1]) for row in told] == [
        (0, "worker-died"),
        (1, None),
        (2, None),
        (3, None),
    ]
    assert stdout.read_bytes().endswith(expected(partial(one, size=SIZE), work[1:]))


def test_what_nobody_writes_is_forgotten(stdout):
    work = units(*["answer"] * 40)  # several in a chunk

    with as_stdout(stdout):
        assert sorted({outcome.number for outcome in pool(2, writes=True)(large, work)}) == list(range(40))
    assert stdout.read_bytes() == b""


def test_no_worker_at_all_is_no_reason_to_write_less(stdout, monkeypatch):
    work = units(*["answer"] * 3)
    monkeypatch.setattr(
        nursery, "start", lambda *_: (_ for _ in ()).throw(OSError(errno.EAGAIN, "no process"))
    )
    write(pool(2, writes=True)(texts, work), stdout)

    assert stdout.read_bytes() == expected(texts, work)


class TestShelf:
    def test_small_rows_and_rows_of_other_kinds_are_sent(self):
        rows = [
            Row("text", ("x" * SIZE,)),
            TextBlock("text", (b"x" * (WORTH_A_TURN - 1),)),
            EncodedRows("text", (1, b"")),
        ]

        assert Shelf().keep(rows) is None
        assert Shelf().keep([*rows, TextBlock("text", (bytes(SIZE),))]) == [*rows, ("text", (Kept(1, SIZE),))]

    def test_there_is_room_for_what_is_sent_together_whatever_its_size_and_for_no_more(self):
        shelf = Shelf()
        first = shelf.keep([TextBlock("text", (bytes(ROOM + 1),)), TextBlock("text", (bytes(ROOM),))])
        others = []
        thread = threading.Thread(
            target=lambda: others.append(shelf.keep([TextBlock("text", (bytes(SIZE),))])), daemon=True
        )
        thread.start()
        time.sleep(0.1)

        assert ([row.values for row in first], others) == ([(Kept(1, ROOM + 1),), (Kept(2, ROOM),)], [])
        assert shelf.obey(b"\0" + (1).to_bytes(8)) == bytes(4)
        time.sleep(0.1)
        assert others == []
        assert shelf.obey(b"\0" + (2).to_bytes(8)) == bytes(4)
        thread.join(ENDLESS)
        assert [row.values for (row,) in others] == [(Kept(3, SIZE),)]

    def test_an_error_is_replied_and_the_room_is_free(self, monkeypatch):
        shelf = Shelf()
        rows = [TextBlock("text", (bytes(ROOM),))]
        shelf.keep(rows)

        with open("/dev/full", "wb", buffering=0) as full:
            monkeypatch.setattr("kcli.engine.away.STDOUT", full.fileno())
            assert int.from_bytes(shelf.obey(b"\1" + (1).to_bytes(8))) == errno.ENOSPC
        assert [row.values for row in shelf.keep(rows)] == [(Kept(2, ROOM),)]


class TestWriting:
    @pytest.fixture
    def file(self, tmp_path):
        return os.open(tmp_path / "out", os.O_RDWR | os.O_CREAT)

    def test_an_error_of_the_worker_is_one_of_writing(self, file):
        with pytest.raises(OutputError, match="No space left") as told:
            written(Kept(1, 5), file, lambda _: errno.ENOSPC.to_bytes(4))

        assert told.value.errno == errno.ENOSPC

    @pytest.mark.parametrize("done", range(6))
    def test_what_a_dead_worker_left_is_known(self, file, done):
        def die(word):
            os.write(file, b"abcde"[:done])

        os.write(file, b"before")

        assert written(Kept(1, 5), file, die) == done

    def test_the_words(self, file):
        words = []
        done = written(Kept(258, 5), file, lambda word: words.append(word) or bytes(4))
        forgotten(Kept(259, 5), lambda word: words.append(word) or bytes(4))

        assert (done, words) == (5, [b"\1\0\0\0\0\0\0\1\2", b"\0\0\0\0\0\0\0\1\3"])
