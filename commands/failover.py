"""`kcli failover`: which partitions get which leader when a broker goes away."""

from functools import partial

from kcli.cli.command import Command, Options, number, option
from kcli.cli.parsers import broker_ids
from kcli.cli.status import UsageError
from kcli.output.answer import Answer
from kcli.rows.declare import names_of

SETTINGS = "Settings that the metadata lacks"


def failover(
    *,
    broker: list[str] | None = option("--broker N,...", "These brokers go away, one after the other."),
    controller: bool = option("--controller", "The active controller goes away."),
    everything: bool = option(
        "--all", "Show the partitions that do not change, too; alone: all as they are."
    ),
    zk: bool = option("--zk", "By the rules of a controller of the ZooKeeper era."),
    min_insync_replicas: int = number(
        "--min-insync-replicas N",
        "Of server.properties, for topics without their own.",
        SETTINGS,
        default=1,
        min=1,
    ),
    unclean_leader_election: bool = option(
        "--unclean-leader-election", "server.properties enables it, for topics without their own.", SETTINGS
    ),
    options: Options,
) -> Command:
    """Show which partitions get which leader, ISR and epoch when brokers go away, by KRaft metadata.

    PATH is a metadata log (__cluster_metadata-0), the log dir around it, or a .checkpoint of it. Of the logs
    of several nodes of a cluster the newest decides.

    Example: kcli failover --broker 1 /var/lib/kafka/data/__cluster_metadata-0
    """
    if not (broker or controller or everything):
        raise UsageError("use --broker N or --controller: who goes away? --all shows what is")
    if controller and zk:
        raise UsageError("--controller is about a quorum of KRaft; leave out --zk")
    from kcli.jobs import failover as jobs
    from kcli.jobs.cluster_metadata import only_metadata_logs
    from kcli.kafka.kraft.failover import Defaults
    from kcli.rows.replicas import FailoverControllerRow, FailoverRow

    brokers = broker_ids(broker, "--broker")
    request = jobs.Departure(
        brokers=brokers,
        controller=controller,
        zookeeper=zk,
        everything=everything,
        defaults=Defaults(min_insync_replicas, unclean_leader_election),
        selection=options.inputs.selection(),
    )
    types = [FailoverRow] * bool(brokers or everything) + [FailoverControllerRow] * controller
    return Command(
        "failover",
        options.without_selection(),
        job_of=lambda file_set: partial(jobs.show, request=jobs.with_older(request, file_set)),
        accepts=jobs.FAILOVER_KINDS,
        expand=only_metadata_logs,
        reduce=(lambda _: jobs.elected) if controller else None,
        answer=Answer(possible=names_of(*types)),
    )
