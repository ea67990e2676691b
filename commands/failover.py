"""`kcli failover`: which partitions get which leader when a broker goes away."""

from functools import partial
from typing import Annotated

import typer

from kcli.cli.brokers import broker_ids
from kcli.cli.options import INT32, Common, Paths, UsageError, common_options

SETTINGS = "Settings that the metadata lacks"


@common_options
def failover(
    paths: Paths = None,
    *,
    broker: Annotated[
        list[str] | None,
        typer.Option("--broker", metavar="N,...", help="These brokers go away, one after the other."),
    ] = None,
    controller: Annotated[
        bool, typer.Option("--controller", help="The active controller goes away.")
    ] = False,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Show the partitions that do not change, too; alone: all as they are."),
    ] = False,
    zk: Annotated[
        bool, typer.Option("--zk", help="By the rules of a controller of the ZooKeeper era.")
    ] = False,
    min_insync_replicas: Annotated[
        int,
        typer.Option(
            "--min-insync-replicas",
            metavar="N",
            min=1,
            max=INT32,
            help="Of server.properties, for topics without their own.",
            rich_help_panel=SETTINGS,
        ),
    ] = 1,
    unclean_leader_election: Annotated[
        bool,
        typer.Option(
            "--unclean-leader-election",
            help="server.properties enables it, for topics without their own.",
            rich_help_panel=SETTINGS,
        ),
    ] = False,
    common: Common,
) -> None:
    """Show which partitions get which leader, ISR and epoch when brokers go away, by KRaft metadata.

    PATH is a metadata log (__cluster_metadata-0), the log dir around it, or a .checkpoint of it.

    Example: kcli failover --broker 1 /var/lib/kafka/data/__cluster_metadata-0
    """
    if not (broker or controller or everything):
        raise UsageError("use --broker N or --controller: who goes away? --all shows what is")
    if controller and zk:
        raise UsageError("--controller is about a quorum of KRaft; leave out --zk")
    from kcli.cli.run import Command, run
    from kcli.jobs.replica import failover as jobs
    from kcli.kafka.kraft.failover import Defaults
    from kcli.rows.failover import FAILOVER, FAILOVER_CONTROLLER

    brokers = broker_ids(broker, "--broker")
    request = jobs.Departure(
        brokers=brokers,
        controller=controller,
        zookeeper=zk,
        everything=everything,
        defaults=Defaults(min_insync_replicas, unclean_leader_election),
        selection=common.selection(),
    )
    of_metadata = common._replace(topic=None, topic_regex=None, partition=None, exclude_internal=False)
    types = {*[FAILOVER.name] * bool(brokers or everything), *[FAILOVER_CONTROLLER.name] * controller}
    command = Command(
        name="failover",
        job=partial(jobs.show, request=request),
        accepts=jobs.ACCEPTS,
        expand=jobs.expand,
        reduce=(lambda _: jobs.elected) if controller else None,
        possible_types=lambda _: frozenset(types),
    )
    run(command, paths, of_metadata)
