"""What a command is: its options, its job, the files that the job reads and the rows that it gives.

It is light: `kcli.cli.run`, which runs it, is imported when a command line can be run.
"""

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kcli.cli.options import Given
from kcli.logdir.targets import PARTITION
from kcli.output.answer import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kcli.engine.contract import Map, Outcome, Reduce, Unit
    from kcli.logdir.find import FileSet
    from kcli.logdir.targets import Target
    from kcli.rows import Item

Expand: TypeAlias = "Callable[[FileSet], FileSet]"
Split: TypeAlias = "Callable[[list[Unit]], list[Unit]]"
OnOutcomes: TypeAlias = "Callable[[Iterator[Outcome], list[Unit]], Iterator[Outcome]]"


class RowTopics(NamedTuple):
    """The options about topics and partitions are about what rows say, and the job heeds them.

    `of`: the topics that are there. `may_have_no_rows`: of a topic that is there, none is an answer.
    """

    of: "Callable[[list[Unit]], Iterable[str]]"
    may_have_no_rows: bool = False


class Command(NamedTuple):
    """What `run` must know of a command.

    `name`: the command as the user types it, a key of kcli.rows.COMMANDS. `job_of` returns the job in place
    of `job`, given what was found. `accepts`: the kinds of targets that the job reads. `expand` may replace
    what was found, e.g. a directory by the files in it. `possible_types`: the row types that targets can
    give. `split` returns units for the same work in which several workers share a large log. `reduce` returns
    the step that combines outcomes, given what was found; `rows_from_reduce`: rows come from it alone.
    `on_outcomes` goes through the outcomes of the units as they come, and may add findings and errors; rows
    then come to this process. `is_difference`: whether a row ends the run with status 1, in place of
    `bad_news_of`. `unbounded_output`: there are as many rows as the files hold, too many for Spark's driver.
    `compares`: a partition that is named twice counts as two replicas; else it is read once, and a file as
    often as it is named, as kafka-dump-log does. `without_rows`: why none is an error, unless the partial of
    an outcome is True.
    """

    name: str
    given: Given
    job: "Map | None" = None
    job_of: "Callable[[FileSet], Map] | None" = None
    accepts: frozenset[str] = frozenset({PARTITION})
    answer: Answer = Answer()
    possible_types: "Callable[[Iterable[Target]], frozenset[str]] | None" = None
    topics: RowTopics | None = None
    expand: "Expand | None" = None
    split: "Split | None" = None
    reduce: "Callable[[FileSet], Reduce] | None" = None
    rows_from_reduce: bool = False
    on_outcomes: "OnOutcomes | None" = None
    is_difference: "Callable[[Item], bool] | None" = None
    unbounded_output: bool = False
    compares: bool = False
    without_rows: "str | Callable[[FileSet], str] | None" = None
