"""What the records of the metadata log make of a start: whether a release reads and applies them.

The truth is `KRaftControlRecordStateMachine` (from 3.9 on it decodes the newest snapshot and the whole log
before anything else), `MetadataLoader` with `FeaturesDelta.replay`, and `FeatureControlManager.replay` of a
controller.
"""

from collections.abc import Iterator

from formats.messages.metadata import METADATA_RECORDS
from kcli.kafka.kraft.meta_properties import RUNTIME, StartFailure
from kcli.kafka.kraft.metadata_image import NO_TOPIC
from kcli.kafka.kraft.metadata_loader import METADATA_PARSE, Metadata, RecordPlace
from kcli.kafka.kraft.releases import KRAFT_VERSION, METADATA_VERSION, Release
from kcli.kafka.storage.log_segment import ILLEGAL_STATE

KRAFT_VERSION_RECORD, RAFT_VERSION_CLASS = (3, 8), (4, 0)
"""The first release with KRaftVersionRecords, and the first whose `KRaftVersion` looks up a level itself."""
RAFT_DECODES = (3, 9)
"""From here on the raft client decodes every record before the first is applied."""
NAMES_FEATURE_LEVEL = (3, 8)
"""From here on the message of an unknown level says `feature level`, before `metadata version`."""

ILLEGAL_ARGUMENT, NULL_POINTER = "IllegalArgumentException", "NullPointerException"
OF_A_LEVEL = "Tried to apply FeatureLevelRecord"
"""What `FeatureControlManager` of a controller says of a level that it refuses."""
OF_A_BROKER = {
    "FenceBrokerRecord": "fence",
    "UnfenceBrokerRecord": "unfence",
    "BrokerRegistrationChangeRecord": "change",
}
"""Records that `ClusterDelta` refuses for a broker that is not registered, or of another epoch; its verbs."""


def metadata_failure(metadata: Metadata, release: Release, *, is_controller: bool) -> StartFailure | None:
    """Return what ends a release's start over these records, if anything; a controller refuses more."""
    unreadable = sorted(_unreadable(metadata, release))
    levels = sorted(_unknown_levels(metadata, release, is_controller=is_controller))
    misfits = sorted(_misfits(metadata, is_controller=is_controller))
    if release.version >= RAFT_DECODES:
        stages = [unreadable, sorted(_kraft_versions(metadata, release)), sorted(levels + misfits)]
    else:
        stages = [sorted(unreadable + levels + misfits + [*_kraft_versions(metadata, release)])]
    if is_controller:
        stages.append(sorted(_levels_not_for_production(metadata, release)))
    return next((stage[0][1] for stage in stages if stage), None)


Ordered = tuple[tuple[bool, int], StartFailure]
"""A failure with its place in the order of reading: the snapshot first, then the log by offset."""


def _ordered(place: RecordPlace, exception: str, message: str) -> Ordered:
    failure = StartFailure(exception, f"offset {place.offset}: {message}", place.path)
    return (not place.path.endswith(".checkpoint"), place.offset), failure


def _unreadable(metadata: Metadata, release: Release) -> Iterator[Ordered]:
    for (record_type, version), place in metadata.record_places.items():
        reason = unreadable_reason(release, record_type, version)
        if reason is not None:
            yield _ordered(place, METADATA_PARSE, reason)
    if metadata.undecodable is not None:
        place, reason = metadata.undecodable
        yield _ordered(place, METADATA_PARSE, reason)


def unreadable_reason(release: Release, record_type: int, version: int) -> str | None:
    """Return why a release cannot read a record of the metadata log; None where it can.

    `AbstractApiMessageSerde.read` reads a later version as known: arrays of structs and later fields fail.
    """
    if not release.knows_type(record_type):
        return f"Unknown metadata id {record_type}"
    highest = release.highest_version(record_type)
    schema = METADATA_RECORDS.get(record_type)
    if schema is None or version <= highest:
        return None
    struct = next((field for field in schema.fields if field.struct), None)
    if struct is not None:
        return f"{schema.name}: Can't read version {version} of {struct.type}; {release.name} knows {highest}"
    later = [field for field in schema.fields if highest < field.versions.lowest <= version]
    if any(field.tag is None for field in later):
        return f"{schema.name} of version {version} has bytes that {release.name} does not read"
    return None


def _unknown_levels(metadata: Metadata, release: Release, *, is_controller: bool) -> Iterator[Ordered]:
    """Yield unknown levels of metadata.version; the loader of the image or a controller refuses one first."""
    for place, name, level in metadata.levels:
        if name == METADATA_VERSION and release.levels and level not in release.levels:
            message = unknown_level(release, level)
            order, failure = _ordered(place, ILLEGAL_ARGUMENT, message)
            says = f"{message.partition(':')[0]}, or {RUNTIME}: {OF_A_LEVEL}" if is_controller else ""
            yield order, failure._replace(says=says)


def unknown_level(release: Release, level: int) -> str:
    """Return the words of `MetadataVersion.fromFeatureLevel` for a level that a release does not know."""
    noun = "feature level" if release.version >= NAMES_FEATURE_LEVEL else "metadata version"
    levels = f"{release.name} knows {release.levels[0]} to {release.levels[-1]}"
    return f"No MetadataVersion with {noun} {level}: {levels}"


def _kraft_versions(metadata: Metadata, release: Release) -> Iterator[Ordered]:
    """Yield a level of kraft.version that a release does not know; one before 3.8 knows no such record."""
    highest = release.features.get(KRAFT_VERSION, 0)
    for place, _, level in metadata.kraft_versions:
        if release.version < KRAFT_VERSION_RECORD:
            yield _ordered(place, ILLEGAL_ARGUMENT, "Unknown control record type KRAFT_VERSION")
        elif level > highest:
            exception = RUNTIME if release.version < RAFT_VERSION_CLASS else ILLEGAL_ARGUMENT
            yield _ordered(place, exception, f"Unknown KRaft feature level: {level}")


def _misfits(metadata: Metadata, *, is_controller: bool) -> Iterator[Ordered]:
    """Yield records that do not fit; of the image's loader and the controller the first ends the process."""
    for misfit in metadata.image.misfits:
        order, failure = _ordered(RecordPlace(misfit.offset, metadata.directory, 0), RUNTIME, str(misfit))
        exception, says, of_controller = RUNTIME, "", f"Unable to replay {misfit.record}"
        if misfit.record in OF_A_BROKER:
            exception, says = ILLEGAL_STATE, f"Tried to {OF_A_BROKER[misfit.record]} broker"
        elif misfit.record == "PartitionChangeRecord" and misfit.reason.startswith(NO_TOPIC):
            exception, says = NULL_POINTER, 'Cannot invoke "org.apache.kafka.image.TopicImage.partitions()"'
            of_controller = f"Tried to create partition{misfit.reason.removeprefix(NO_TOPIC)}"
        if says and is_controller:
            says += f", or {RUNTIME}: {of_controller}"
        yield order, failure._replace(exception=exception, says=says)


def _levels_not_for_production(metadata: Metadata, release: Release) -> Iterator[Ordered]:
    """Yield what `FeatureControlManager.replay` refuses; an unknown feature at level 0 passes."""
    for place, name, level in metadata.levels:
        highest = release.production_level if name == METADATA_VERSION else release.features.get(name, 0)
        if level > highest and release.levels:
            message = f"{name} {level}, and a controller of {release.name} supports versions up to {highest}"
            yield _ordered(place, RUNTIME, message)
