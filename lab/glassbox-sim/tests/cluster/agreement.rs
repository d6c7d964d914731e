//! Clusters whose sequencer's group agrees by majority: what fails comes back by itself, and no operator decides.

use glassbox_cluster::{AgreementSettings, OrderSettings, SchedulerKind, SchemeKind};
use glassbox_sim::cluster::{Bug, Costs, Link, Load, Settings, checks};
use glassbox_testing::dice::{Dice, seed, times};

use super::{deterministic, is_right, judge, parted, seeds_are_repeated};

/// Shorter than those of a real cluster, as the simulated time is.
pub const AGREEMENT: Option<AgreementSettings> =
    Some(AgreementSettings { heartbeat_ms: 2, election_ms: 10, kept_entries: 20 });

/// A random load and cluster, of one, three or five members that agree.
pub fn any(seed: u64) -> Settings {
    let (mut dice, settings) = (Dice(seed ^ 8), deterministic::any(seed));
    let coordinators = [1, 3, 3, 5][dice.place(4)];
    Settings {
        coordinators,
        order: OrderSettings { agreement: AGREEMENT, members: members(seed, coordinators), ..settings.order },
        journals: true,
        clients: settings.clients.min(4),
        ..settings
    }
}

/// How many coordinators agree at the beginning. If that is given, the members change.
pub fn members(seed: u64, coordinators: u16) -> u16 {
    [0, 0, 1, coordinators][Dice(seed ^ 14).place(4)]
}

/// Base and log of a replica that was restarted alone: the library's snapshot came when it had none to give.
const FOUND_WHEN_A_VOTE_IS_FORCED: [u64; 2] = [1_608, 5_585];

/// The configuration that gives a restarted partition its place arrived after the next one, which was not taken.
const FOUND_WHEN_A_PLACE_COMES_LATE: [u64; 1] = [18_865];

/// A new member counted before it had the log, and was killed while it received the state.
const FOUND_WHEN_A_NEW_MEMBER_FAILS: [u64; 1] = [31_028];

/// Members fail alone or all at once, are cut off, and their clocks differ; clients stop.
#[test]
fn a_majority_goes_on_by_itself() {
    let first = seed(1);
    for seed in (first..first + times(5_000, 200_000))
        .chain(FOUND_WHEN_A_VOTE_IS_FORCED)
        .chain(FOUND_WHEN_A_PLACE_COMES_LATE)
        .chain(FOUND_WHEN_A_NEW_MEMBER_FAILS)
    {
        let mut dice = Dice(seed ^ 9);
        let settings =
            Settings { incidents: dice.below(5) as u32, outages: dice.below(2) as u32, ..parted(&mut dice, any(seed)) };
        is_right(settings, 40_000);
    }
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    seeds_are_repeated(3, any);
}

/// A member votes, or says that it has an epoch, before its disk has it.
#[test]
fn an_acknowledgement_before_the_force_is_detected() {
    let costs = Costs { single_undo_ns: 1_000, coordinator_message_ns: 1_000, ..Costs::of_the_paper() };
    let order = OrderSettings { agreement: AGREEMENT, ..OrderSettings::default() };
    let settings = Settings {
        coordinators: 3,
        clients: 12,
        order,
        journals: true,
        outages: 6,
        costs,
        link: Link::of(1_000),
        ..Settings::of_the_paper(SchemeKind::Deterministic(SchedulerKind::Vll), Load::default(), 3)
    };
    let bug = Some(Bug::UnforcedAck);
    let is_wrong = |seed| judge(Settings { seed, bug, ..settings }, 40_000, checks::all).is_err();
    assert!((0..40).any(is_wrong), "it goes unnoticed");
    judge(settings, 40_000, checks::all).unwrap_or_else(|why| panic!("without the bug: {why}"));
}
