"""The checksums of a window, against those of one batch at a time."""

import random

import pytest

from formats.bulk import headers
from formats.checksums import SMALL_BATCH, valid
from formats.magic import is_valid
from tests.builders import put_record, put_records


def batch(size, number=0):
    return put_records([put_record(value=random.Random(number).randbytes(size))], base_offset=number)


def window(sizes):
    return [batch(size, number) for number, size in enumerate(sizes)]


def verdicts(raws):
    data = b"".join(raws)
    found = headers(data, len(data), len(data))
    assert len(found.chain.positions) == len(raws)
    return valid(data, found).tolist(), found, data


WINDOWS = {
    "tiny": [0] * 40,
    "mixed": [0, 1, 2000, 64, 65, 127, 128] * 9,
    "few": [10] * (15),
    "large": [SMALL_BATCH * 2] * 20,
}


@pytest.mark.parametrize("name", WINDOWS)
def test_all_match(name):
    found = verdicts(window(WINDOWS[name]))

    assert found[0] == [True] * len(WINDOWS[name])


@pytest.mark.parametrize("name", WINDOWS)
def test_a_flipped_bit_is_met_in_its_own_batch(name):
    chance = random.Random(name)
    raws = window(WINDOWS[name])
    for _ in range(60):
        number = chance.randrange(len(raws))
        # the checksum and all after it; what is before changes no verdict
        position = chance.choice(
            [17, 18, 19, 20, 21, len(raws[number]) - 1, chance.randrange(21, len(raws[number]))]
        )
        damaged = bytearray(raws[number])
        damaged[position] ^= 1 << chance.randrange(8)
        some = [*raws[:number], bytes(damaged), *raws[number + 1 :]]

        assert (
            verdicts(some)[0] == [is_valid(raw) for raw in some] == [at != number for at in range(len(raws))]
        )


def test_bytes_before_the_checksum_do_not_count():
    raws = window([30] * 40)
    other = [raw[:3] + b"\7" + raw[4:12] + b"\0\0\1\2" + raw[16:] for raw in raws]

    assert verdicts(other)[0] == [True] * 40


def test_errors_that_cancel_each_other_out_are_two_errors():
    # two checksums wrong by the same bits, two bodies exchanged: every batch is judged alone
    raws = window([30] * 40)
    wrong = [bytes(byte ^ (17 <= at < 21) for at, byte in enumerate(raw)) for raw in raws]
    crossed = [
        raws[0][:17] + raws[1][17:21] + raws[0][21:],
        raws[1][:17] + raws[0][17:21] + raws[1][21:],
        *raws[2:],
    ]

    assert verdicts([wrong[0], *raws[1:-1], wrong[-1]])[0] == [False] + [True] * 38 + [False]
    assert verdicts(crossed)[0] == [False, False] + [True] * 38
    assert verdicts(wrong)[0] == [False] * 40
