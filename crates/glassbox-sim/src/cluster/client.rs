//! A client in a closed loop: calls, waits for the answer, calls again.

use std::sync::Arc;

use glassbox::{Catalog, Error};
use glassbox_cluster::{Action, Address, Configuration, Message, Outbox, Outcome, Packet, Router};
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
    pub(super) finished: u64,
    /// Of those that have finished, how many went to several partitions.
    pub(super) several: u64,
    pub(super) history: Option<Vec<Finished<CallOf<W>, OutputOf<W>>>>,
}

impl<W: Workload> Client<W> {
    pub(super) fn new(number: u32, catalog: &Arc<Catalog>, configuration: Configuration, caller: W::Caller) -> Self {
        let router = Router::new(Address::Client(number), Arc::clone(catalog), configuration);
        let history = Some(Vec::new());
        Self { number, router, caller, under_way: None, ends: false, finished: 0, several: 0, history }
    }

    /// Calls, unless it waits.
    pub(super) fn call(&mut self, now_ns: u64, out: &mut Outbox) {
        if self.under_way.is_some() || self.ends {
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

    pub(super) fn handle(&mut self, from: Address, packet: Packet, now_ns: u64, out: &mut Outbox) {
        for id in self.router.handle(from, packet, now_ns / 1_000, out) {
            let answered = self.router.take(id).expect("it has ended now");
            let Some(it) = self.under_way.take_if(|it| it.id == id) else { continue };
            let is_unknown = answered.outcome == Outcome::Unknown;
            let end = match W::Caller::output(&it.call, answered) {
                Ok(output) => Done::Committed(output),
                Err(Error::Aborted(abort)) => Done::Aborted(abort.code),
                Err(_) if is_unknown => Done::Unknown,
                Err(error) => Done::Failed(error.to_string()),
            };
            self.finished += 1;
            self.several += u64::from(it.several);
            if let Some(history) = &mut self.history {
                let UnderWay { call, began_ns, .. } = it;
                history.push(Finished { client: self.number, call, began_ns, ended_ns: now_ns, end });
            }
            self.call(now_ns, out);
        }
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.under_way.is_some()
    }

    pub(super) fn give_up_waiting(&mut self, patience_us: u64, now_ns: u64, out: &mut Outbox) {
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
