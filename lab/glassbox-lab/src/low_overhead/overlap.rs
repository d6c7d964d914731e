//! Overlap: backups receive a call on one partition before the primary runs it, or afterwards.
//!
//! Paper: *Low Overhead Concurrency Control*, section 3.2: the primary sends a copy of a request to its backups, and
//! runs it while it waits for their acknowledgements. Its measurements have no backups. Claim here: a call takes the
//! time of its run less, so few clients make more calls; where partitions are busy, nothing changes.
//! Entries of the stream cost nothing here but their delay: the paper has no number for them.

use glassbox_cluster::SchemeKind;
use glassbox_sim::cluster::{Load, Settings};

use super::draw::{self, CurveOf};
use super::series::{Series, rate};
use crate::claim::{Claim, own_check};
use crate::figures::{Colour, Stroke};
use crate::points::Points;
use crate::section::Figure;

/// Its name in results.
pub const FIGURE: &str = "Overlap with backups";
/// So few clients that partitions wait for calls.
const FEW: u32 = 4;

/// Backups of each partition, whether they hold calls first, and clients.
struct OverlapRow {
    name: &'static str,
    change: fn(&mut Settings),
    colour: Colour,
}

const ROWS: [OverlapRow; 6] = [
    OverlapRow { name: "1 backup, afterwards", change: |it| with(it, 1, false, FEW), colour: Colour(0x9f, 0xc5, 0xe8) },
    OverlapRow { name: "1 backup, meanwhile", change: |it| with(it, 1, true, FEW), colour: Colour(0x4e, 0x79, 0xa7) },
    OverlapRow {
        name: "2 backups, afterwards",
        change: |it| with(it, 2, false, FEW),
        colour: Colour(0xf2, 0xb5, 0xb5),
    },
    OverlapRow { name: "2 backups, meanwhile", change: |it| with(it, 2, true, FEW), colour: Colour(0xe1, 0x57, 0x59) },
    OverlapRow {
        name: "40 clients, afterwards",
        change: |it| with(it, 1, false, 40),
        colour: Colour(0xa9, 0xd1, 0xb3),
    },
    OverlapRow { name: "40 clients, meanwhile", change: |it| with(it, 1, true, 40), colour: Colour(0x2f, 0x8f, 0x4e) },
];

fn with(settings: &mut Settings, backups: u8, overlap: bool, clients: u32) {
    (settings.replicas, settings.order.overlap, settings.clients) = (1 + backups, overlap, clients);
}

/// The simulated series.
pub(super) fn series() -> Vec<Series> {
    let line = |row: &OverlapRow| {
        let line = Series::new(FIGURE, row.name, SchemeKind::Speculation, Load::default());
        Series { change: row.change, ..line }
    };
    ROWS.iter().map(line).collect()
}

/// The figure, if it was simulated.
pub(super) fn figure(points: &Points) -> Option<Figure> {
    let shown = ROWS.each_ref().map(|row| CurveOf {
        figure: FIGURE,
        row: row.name,
        name: row.name,
        stroke: Stroke::Dotted,
        colour: row.colour,
    });
    let caption = format!(
        "Speculation. Backups receive a call on one partition when it has ended, or before it is run, and acknowledge \
         it meanwhile. {FEW} clients, with one and with two backups, and 40 clients with one, where partitions are \
         busy and nothing is gained."
    );
    draw::figure(points, FIGURE, caption, &shown, Vec::new())
}

/// The claims about it.
pub(super) fn claims(points: &Points) -> Vec<Option<Claim>> {
    let gain = |at: usize, share| {
        let of = |row: &OverlapRow| rate(points, FIGURE, row.name, share);
        Some(100.0 * (of(&ROWS[at + 1])? / of(&ROWS[at])? - 1.0))
    };
    vec![
        own_check((FIGURE, "1 backup, 4 clients: gain in throughput at 0 %"), gain(0, 0), (4.0, 25.0), "%"),
        own_check((FIGURE, "2 backups, 4 clients: gain in throughput at 0 %"), gain(2, 0), (4.0, 25.0), "%"),
        own_check((FIGURE, "1 backup, 40 clients: gain in throughput at 0 %"), gain(4, 0), (-3.0, 3.0), "%"),
    ]
}
