"""What each release of Kafka can read of a metadata log: levels of features, record types and versions.

The truth is `MetadataVersion`, `Feature` (`Features` in 3.8 and 3.9) and the message definitions in the jars
of kafka-server-common and kafka-metadata of each release; a patch release knows what its minor one does.
"""

from typing import NamedTuple

from formats.messages.metadata import METADATA_RECORDS

METADATA_VERSION, KRAFT_VERSION = "metadata.version", "kraft.version"
NO_LEVELS = range(0)


class Release(NamedTuple):
    """What a release knows: named `levels` of metadata.version, the highest that it may run with.

    `features`: the highest production level of every other feature.
    """

    version: tuple[int, int]
    levels: range
    production_level: int
    features: dict[str, int]

    @property
    def name(self) -> str:
        """The release as people write it: 4.3."""
        return ".".join(map(str, self.version))

    def knows_type(self, record_type: int) -> bool:
        """Whether it has a record of the metadata log of this type."""
        first, last = TYPE_RELEASES.get(record_type, ((3, 0), None))
        is_declared = record_type in METADATA_RECORDS or record_type in TYPE_RELEASES
        return is_declared and first <= self.version and (last is None or self.version <= last)

    def highest_version(self, record_type: int) -> int:
        """Return the highest version of a record type that it declares; the type is one that it knows."""
        raised = RAISED_VERSIONS.get(record_type, ())
        return max((number for number, first in raised if first <= self.version), default=0)


_SINCE = {(3, 2): (18, 19), (3, 3): (20,), (3, 4): (21,), (3, 5): (22,)} | {
    (3, 6): (23, 24, 25, 26),
    (3, 7): (27,),
    (4, 0): (28,),
    (4, 4): (29,),
}
TYPE_RELEASES: dict[int, tuple[tuple[int, int], tuple[int, int] | None]] = {
    6: ((3, 0), (3, 4)),
    16: ((3, 0), (3, 2)),
    **{number: (first, None) for first, numbers in _SINCE.items() for number in numbers},
}
"""Record type -> the first and the last release that has it; the other types are in all from 3.0 on."""

RAISED_VERSIONS: dict[int, tuple[tuple[int, tuple[int, int]], ...]] = {
    0: ((1, (3, 3)), (2, (3, 4)), (3, (3, 7)), (4, (4, 3))),
    3: ((2, (3, 7)),),
    5: ((2, (3, 7)),),
    17: ((1, (3, 3)), (2, (3, 7)), (3, (4, 3))),
}
"""Record type -> its versions above 0 with the release that brought them."""

_FEATURES_4_0 = {"kraft.version": 1, "transaction.version": 2, "group.version": 1} | {
    "eligible.leader.replicas.version": 1
}
_FEATURES_4_1 = _FEATURES_4_0 | {"share.version": 1, "streams.version": 0}
_FEATURES_4_2 = _FEATURES_4_1 | {"streams.version": 1}

RELEASES = {
    release.version: release
    for release in (
        Release((3, 0), NO_LEVELS, 0, {}),
        Release((3, 1), NO_LEVELS, 0, {}),
        Release((3, 2), NO_LEVELS, 0, {}),
        Release((3, 3), range(1, 8), 7, {}),
        Release((3, 4), range(1, 9), 8, {}),
        Release((3, 5), range(1, 12), 11, {}),
        Release((3, 6), range(1, 15), 14, {}),
        Release((3, 7), range(1, 21), 19, {}),
        Release((3, 8), range(1, 22), 20, {}),
        Release((3, 9), range(1, 24), 21, {"kraft.version": 1, "transaction.version": 0}),
        Release((4, 0), range(7, 27), 25, _FEATURES_4_0),
        Release((4, 1), range(7, 30), 27, _FEATURES_4_1),
        Release((4, 2), range(7, 31), 29, _FEATURES_4_2),
        Release((4, 3), range(7, 32), 30, _FEATURES_4_2),
        Release((4, 4), range(7, 35), 33, _FEATURES_4_2 | {"share.version": 2}),
    )
}
"""Release -> what it knows; before 3.3 metadata.version has no levels."""


def release_named(version: tuple[int, ...]) -> Release:
    """Return what a release knows; a patch release knows what its minor one does. KeyError for others."""
    return RELEASES[version[0], version[1]]
