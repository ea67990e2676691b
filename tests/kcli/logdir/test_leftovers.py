"""Leftovers of interrupted work: which go, which take their names."""

from kcli.logdir.leftovers import leftovers


def offset_of(name):
    return int(name.partition(".")[0])


def test_swaps_below_the_first_cleaned_file_are_finished_and_all_else_goes():
    names = ["10.log.swap", "20.log.swap", "30.log.swap", "20.log.cleaned", "40.index.deleted", "50.log"]

    found = leftovers(names, offset_of)

    assert found.swaps == ("10.log.swap",)
    assert found.deleted == ("40.index.deleted", "20.log.cleaned", "20.log.swap", "30.log.swap")


def test_without_a_cleaned_file_every_swap_is_finished():
    assert leftovers(["0.log.swap", "9.log.swap"], offset_of).swaps == ("0.log.swap", "9.log.swap")


def test_a_deleted_snapshot_of_kraft_is_no_leftover_of_the_log():
    assert leftovers(["5.checkpoint.deleted"], offset_of) == ((), ())
