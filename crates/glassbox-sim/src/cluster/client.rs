//! A client in a closed loop: calls, waits for the answer, calls again.

use std::collections::BTreeSet;

use glassbox::Error;
use glassbox_cluster::{Action, Address, EndedNow, Message, Outbox, Outcome, Packet, Router};
use glassbox_workloads::micro::{ReadWrite, Seen};

use super::settings::Load;
use super::workload::{CallOf, Caller, OutputOf, Workload};

/// What a client heard of one of its transactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished<C = ReadWrite, O = Seen> {
    /// Which client.
    pub client: u32,
    /// What it asked for.
    pub call: C,
    /// When.
    pub began_ns: u64,
    /// When it heard.
    pub ended_ns: u64,
    /// What it heard.
    pub end: Done<O>,
}

/// How a transaction ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done<O = Seen> {
    /// It counts, and this is kept of the answer: of the microbenchmark, what was read.
    Committed(O),
    /// It aborted, with this code.
    Aborted(u32),
    /// Nobody can tell whether it counts.
    Unknown,
    /// Something is wrong.
    Failed(String),
}

/// A call under way.
struct UnderWay<C> {
    id: u64,
    call: C,
    began_ns: u64,
    several: bool,
}

pub(super) struct Client<W: Workload> {
    number: u32,
    router: Router,
    caller: W::Caller,
    under_way: Option<UnderWay<CallOf<W>>>,
    /// It calls no more.
    pub(super) ends: bool,
    /// It was stopped, and none is started yet in its place.
    pub(super) away: bool,
    /// Those to whom its connection is not there.
    broken: BTreeSet<Address>,
    pub(super) finished: u64,
    /// Of those that have finished, how many went to several partitions.
    pub(super) several: u64,
    pub(super) history: Option<Vec<Finished<CallOf<W>, OutputOf<W>>>>,
}

impl<W: Workload> Client<W> {
    pub(super) fn new(number: u32, router: Router, caller: W::Caller) -> Self {
        let (under_way, ends, away, history) = (None, false, false, Some(Vec::new()));
        let broken = BTreeSet::new();
        Self { number, router, caller, under_way, ends, away, broken, finished: 0, several: 0, history }
    }

    /// Another one goes on with what this one, which has stopped, would have called.
    pub(super) fn start(&mut self, router: Router, now_ns: u64, out: &mut Outbox) {
        (self.router, self.away) = (router, false);
        self.call(now_ns, out);
    }

    /// It stops.
    pub(super) fn stop(&mut self, now_ns: u64) {
        self.away = true;
        self.broken.clear();
        if let Some(it) = self.under_way.take() {
            self.finish(it, now_ns, Done::Unknown);
        }
    }

    fn finish(&mut self, it: UnderWay<CallOf<W>>, ended_ns: u64, end: Done<OutputOf<W>>) {
        self.finished += 1;
        self.several += u64::from(it.several);
        if let Some(history) = &mut self.history {
            let UnderWay { call, began_ns, .. } = it;
            history.push(Finished { client: self.number, call, began_ns, ended_ns, end });
        }
    }

    /// Calls, unless it waits.
    pub(super) fn call(&mut self, now_ns: u64, out: &mut Outbox) {
        if self.under_way.is_some() || self.ends || self.away {
            return;
        }
        let (call, before) = (self.caller.draw(), out.actions.len());
        let id = W::Caller::send(&call, &mut self.router, now_ns / 1_000, out);
        let alone = matches!(out.actions.get(before), Some(Action::Send(_, Message::Call { .. })));
        self.under_way = Some(UnderWay { id, call, began_ns: now_ns, several: !alone });
    }

    pub(super) fn epoch(&self) -> u64 {
        self.router.epoch()
    }

    /// Something arrives; `None`: a connection broke.
    pub(super) fn handle(&mut self, from: Address, packet: Option<Packet>, now_ns: u64, out: &mut Outbox) {
        let ended = match packet {
            Some(packet) => self.router.handle(from, packet, now_ns / 1_000, out),
            None => {
                self.broken.insert(from);
                self.router.lost(from)
            }
        };
        self.take(ended, now_ns, out);
    }

    /// A connection is there again, if it broke.
    pub(super) fn finds_again(&mut self, member: Address, now_ns: u64, out: &mut Outbox) {
        if self.broken.remove(&member) {
            let ended = self.router.found_again(member, out);
            self.take(ended, now_ns, out);
        }
    }

    fn take(&mut self, ended: EndedNow, now_ns: u64, out: &mut Outbox) {
        for id in ended {
            let answered = self.router.take(id).expect("it has ended now");
            let Some(it) = self.under_way.take_if(|it| it.id == id) else { continue };
            let is_unknown = answered.outcome == Outcome::Unknown;
            let end = match W::Caller::output(&it.call, answered) {
                Ok(output) => Done::Committed(output),
                Err(Error::Aborted(abort)) => Done::Aborted(abort.code),
                Err(_) if is_unknown => Done::Unknown,
                Err(error) => Done::Failed(error.to_string()),
            };
            self.finish(it, now_ns, end);
            self.call(now_ns, out);
        }
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.under_way.is_some()
    }

    pub(super) fn give_up_waiting(&mut self, patience_us: u64, now_ns: u64, out: &mut Outbox) {
        if self.away {
            return;
        }
        // Not all at the same time: two that block each other would meet again.
        let mine = patience_us + patience_us * u64::from(self.number % 16) / 16;
        self.router.give_up_waiting(mine, now_ns / 1_000, out);
    }

    pub(super) fn retries(&self) -> u64 {
        self.router.retries()
    }
}

impl Client<Load> {
    pub(super) fn shift_to(&mut self, load: Load) {
        self.caller.shift_to(load);
    }
}
