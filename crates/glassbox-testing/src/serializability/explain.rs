//! Anomalies in words: what each transaction did, and for each edge of a cycle why the one comes before the other.

use super::cycles::Hop;
use super::facts::Item;
use super::graph::kind;
use super::history::{History, ReadVersion, Seen, Step, Transaction, Value};
use super::orders::{Orders, Version};

/// Elements that are told of a long list or result.
const TOLD: usize = 8;

/// What a transaction did, in one line.
pub fn told(history: &History, number: u32) -> String {
    let Some(transaction) = history.get(number) else { return format!("T{number}: not in this history") };
    let client = transaction.client;
    let steps = if transaction.committed() {
        transaction.answers().map(|(_, step, seen)| answer_text(step, seen)).collect::<Vec<_>>()
    } else {
        transaction.steps.iter().map(step_text).collect()
    };
    let aborted = if transaction.committed() { "" } else { ", aborted" };
    format!("T{number} (client {client}{aborted}): {}", steps.join("; "))
}

fn step_text(step: &Step) -> String {
    match step {
        Step::Append(list, value) => format!("append {value} to {list}"),
        Step::Read(list) => format!("read {list}"),
        Step::Join(member, rank, _) => format!("insert {member} with rank {rank}"),
        Step::Rank(member, rank, _) => format!("give {member} rank {rank}"),
        Step::Leave(member, _) => format!("delete {member}"),
        Step::Look(member) => format!("read {member}"),
        Step::Scan(predicate) => format!("scan {predicate}"),
        Step::Found(club) => format!("insert the first members of club {club}"),
        Step::Abort => "abort".to_owned(),
    }
}

fn answer_text(step: &Step, seen: &Seen) -> String {
    let step = step_text(step);
    match seen {
        Seen::Wrote { version, over } => format!("{step}: version {version} over {over}"),
        Seen::Nothing => format!("{step}: nothing to do"),
        Seen::Unknown => format!("{step}: an answer that was lost"),
        Seen::Values(values) => format!("{step}: {}", shortened(values, Value::to_string)),
        Seen::Rows(rows) => format!("{step}: {}", shortened(rows, ReadVersion::to_string)),
    }
}

/// The last elements, which are the newest.
fn shortened<T>(all: &[T], text: impl Fn(&T) -> String) -> String {
    let left_out = all.len().saturating_sub(TOLD);
    let dots = if left_out > 0 { format!("{left_out} more, ") } else { String::new() };
    format!("[{dots}{}]", all[left_out..].iter().map(text).collect::<Vec<_>>().join(", "))
}

/// A cycle: its transactions, then its edges.
pub fn cycle_text(history: &History, orders: &Orders, cycle: &[Hop]) -> String {
    let mut lines: Vec<_> = cycle.iter().map(|hop| told(history, hop.from)).collect();
    lines.extend(cycle.iter().map(|hop| edge_text(history, orders, hop)));
    let first = cycle.first().map_or(0, |hop| hop.from);
    lines.push(format!("so T{first} comes before itself"));
    lines.join("\n")
}

fn edge_text(history: &History, orders: &Orders, hop: &Hop) -> String {
    let (from, to) = (hop.from, hop.edge.to);
    let (name, why) = match hop.edge.kind {
        kind::ANSWERED => ("real time", answered_text(history, from, to)),
        _ => because(history, orders, hop),
    };
    format!("T{from} < T{to} ({name}): {why}")
}

fn answered_text(history: &History, from: u32, to: u32) -> String {
    let time = |number: u32, of: fn(&Transaction) -> u64| history.get(number).map_or(0, of);
    let (answered, asked) = (time(from, |it| it.completed_ns), time(to, |it| it.invoked_ns));
    format!("T{from} was answered at {answered} ns, before T{to} was asked for at {asked} ns")
}

fn because(history: &History, orders: &Orders, hop: &Hop) -> (&'static str, String) {
    let (from, to) = (hop.from, hop.edge.to);
    let item = orders.items[hop.edge.item as usize];
    let (version, next) = orders.at(hop.edge.item, hop.edge.version);
    let made = |version: Option<Version>| version.map_or_else(String::new, |it| made_text(history, item, &it));
    let reads = |reader: u32| {
        let step = history.get(reader).and_then(|it| it.steps.get(usize::from(hop.edge.step)));
        format!("in `{}`, T{reader}", step.map(step_text).unwrap_or_default())
    };
    match hop.edge.kind {
        kind::WW => ("ww", format!("{}, then {}", made(version), made(next))),
        kind::WR => ("wr", format!("{} saw that {}", reads(to), made(version))),
        kind::WR_PREDICATE => ("wr by predicate", format!("{} saw it no more, because {}", reads(to), made(version))),
        kind::RW => ("rw", format!("{} did not see yet that {}", reads(from), made(version))),
        _ => ("rw by predicate", format!("{} did not see yet that {}", reads(from), made(version))),
    }
}

/// What the writer of a version did.
fn made_text(history: &History, item: Item, version: &Version) -> String {
    let Version { number, value, rank } = version;
    let by = value.writer();
    match (item, rank) {
        (Item::List(list), _) => format!("T{by} appended {value} to {list} as element {number}"),
        (Item::Member(member), None) => format!("T{by} deleted {member}"),
        (Item::Member(member), Some(rank)) => {
            let step = history.get(by).and_then(|writer| writer.steps.get(value.step()));
            let inserted = matches!(step, Some(Step::Join(..)));
            if inserted {
                format!("T{by} inserted {member} with rank {rank}")
            } else {
                format!("T{by} gave {member} rank {rank}")
            }
        }
    }
}
