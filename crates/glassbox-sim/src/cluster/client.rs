//! A client in a closed loop: calls, waits for the answer, calls again.

use std::sync::Arc;

use glassbox::{Catalog, Error};
use glassbox_cluster::{Address, Configuration, Outbox, Outcome, Packet, Router};
use glassbox_workloads::micro::{ReadWrite, Seen};

use super::micro::Micro;
use super::settings::Load;

/// What a client heard of one of its transactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Which client.
    pub client: u32,
    /// What it asked for.
    pub call: ReadWrite,
    /// When.
    pub began_ns: u64,
    /// When it heard.
    pub ended_ns: u64,
    /// What it heard.
    pub end: Done,
}

/// How a transaction ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    /// It counts, and read this.
    Committed(Seen),
    /// It aborted, with this code.
    Aborted(u32),
    /// Nobody can tell whether it counts.
    Unknown,
    /// Something is wrong.
    Failed(String),
}

pub(super) struct Client {
    number: u32,
    router: Router,
    micro: Micro,
    /// The call under way, and when it began.
    under_way: Option<(u64, ReadWrite, u64)>,
    /// It calls no more.
    pub(super) ends: bool,
    pub(super) finished: u64,
    pub(super) history: Option<Vec<Finished>>,
}

impl Client {
    pub(super) fn new(number: u32, catalog: &Arc<Catalog>, configuration: Configuration, micro: Micro) -> Self {
        let router = Router::new(Address::Client(number), Arc::clone(catalog), configuration);
        Self { number, router, micro, under_way: None, ends: false, finished: 0, history: Some(Vec::new()) }
    }

    /// Calls, unless it waits.
    pub(super) fn call(&mut self, now_ns: u64, out: &mut Outbox) {
        if self.under_way.is_some() || self.ends {
            return;
        }
        let call = self.micro.draw();
        let id = self.router.call(call, now_ns / 1_000, u64::from(call.stamp), out).expect("the catalog has it");
        self.under_way = Some((id, call, now_ns));
    }

    pub(super) fn epoch(&self) -> u64 {
        self.router.epoch()
    }

    pub(super) fn handle(&mut self, from: Address, packet: Packet, now_ns: u64, out: &mut Outbox) {
        for answered in self.router.handle(from, packet, now_ns / 1_000, out) {
            let Some((_, call, began_ns)) = self.under_way.take_if(|(id, ..)| *id == answered.id) else { continue };
            let is_unknown = answered.outcome == Outcome::Unknown;
            let end = match Router::output::<ReadWrite>(answered) {
                Ok(seen) => Done::Committed(seen),
                Err(Error::Aborted(abort)) => Done::Aborted(abort.code),
                Err(_) if is_unknown => Done::Unknown,
                Err(error) => Done::Failed(error.to_string()),
            };
            self.finished += 1;
            if let Some(history) = &mut self.history {
                history.push(Finished { client: self.number, call, began_ns, ended_ns: now_ns, end });
            }
            self.call(now_ns, out);
        }
    }

    pub(super) fn shift_to(&mut self, load: Load) {
        self.micro.shift_to(load);
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
