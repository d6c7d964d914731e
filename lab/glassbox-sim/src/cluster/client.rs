//! A client in a closed loop.

use std::collections::BTreeSet;

use glassbox::Error;
use glassbox_cluster::{Action, Address, EndedCalls, Message, Outbox, Outcome, Packet, Router};
use glassbox_workloads::micro::{ReadWrite, Seen};

use super::workload::{CallOf, Caller, OutputOf, Workload};
use glassbox_workloads::micro::Load;

/// A finished call of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished<C = ReadWrite, O = Seen> {
    /// The client.
    pub client: u32,
    /// The call.
    pub call: C,
    /// Its beginning.
    pub began_ns: u64,
    /// Its end.
    pub ended_ns: u64,
    /// Its outcome.
    pub end: Done<O>,
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done<O = Seen> {
    /// Committed, with the checked part of the answer: for the microbenchmark, the values that were read.
    Committed(O),
    /// It aborted, with this code.
    Aborted(u32),
    /// The outcome is unknown.
    Unknown,
    /// A failure.
    Failed(String),
}

/// A call in flight.
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
    /// The time of its next call, while it pauses.
    pub(super) calls_at_ns: Option<u64>,
    /// It makes no more calls.
    pub(super) ends: bool,
    /// It was stopped, and has no successor yet.
    pub(super) away: bool,
    /// Members to which its connection is broken.
    broken: BTreeSet<Address>,
    pub(super) finished: u64,
    /// Of the finished calls, those that were distributed.
    pub(super) several: u64,
    /// Calls that were refused because a partition is late.
    pub(super) refused: u64,
    pub(super) history: Option<Vec<Finished<CallOf<W>, OutputOf<W>>>>,
}

impl<W: Workload> Client<W> {
    pub(super) fn new(number: u32, router: Router, caller: W::Caller) -> Self {
        let (under_way, ends, away, history) = (None, false, false, Some(Vec::new()));
        let broken = BTreeSet::new();
        Self {
            number,
            router,
            caller,
            under_way,
            calls_at_ns: None,
            ends,
            away,
            broken,
            finished: 0,
            several: 0,
            refused: 0,
            history,
        }
    }

    /// A successor continues with the calls of this client, which was stopped.
    pub(super) fn start(&mut self, router: Router, now_ns: u64, out: &mut Outbox) {
        (self.router, self.away) = (router, false);
        self.call(now_ns, out);
    }

    /// Stops the client.
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

    /// Makes a call, unless one is in flight.
    pub(super) fn call(&mut self, now_ns: u64, out: &mut Outbox) {
        if self.under_way.is_some() || self.ends || self.away {
            return;
        }
        let call = self.caller.draw();
        self.make(call, now_ns, out);
    }

    /// Makes this call.
    pub(super) fn make(&mut self, call: CallOf<W>, now_ns: u64, out: &mut Outbox) {
        let before = out.actions.len();
        let id = W::Caller::send(&call, &mut self.router, now_ns / 1_000, out);
        let alone = matches!(out.actions.get(before), Some(Action::Send(_, Message::Call { .. })));
        self.under_way = Some(UnderWay { id, call, began_ns: now_ns, several: !alone });
    }

    pub(super) fn epoch(&self) -> u64 {
        self.router.epoch()
    }

    /// Receives a message; `None`: a connection broke.
    pub(super) fn handle(&mut self, from: Address, packet: Option<Packet>, now_ns: u64, out: &mut Outbox) {
        let ended = match packet {
            Some(packet) => self.router.handle(from, packet, now_ns / 1_000, out),
            None => {
                self.broken.insert(from);
                self.router.on_disconnected(from)
            }
        };
        self.take(ended, now_ns, out);
    }

    /// A broken connection was made again.
    pub(super) fn reconnects(&mut self, member: Address, now_ns: u64, out: &mut Outbox) {
        if self.broken.remove(&member) {
            let ended = self.router.on_reconnected(member, out);
            self.take(ended, now_ns, out);
        }
    }

    fn take(&mut self, ended: EndedCalls, now_ns: u64, out: &mut Outbox) {
        for id in ended {
            let answered = self.router.take(id).expect("it has ended now");
            let Some(it) = self.under_way.take_if(|it| it.id == id) else { continue };
            let is_unknown = answered.outcome == Outcome::Unknown;
            let end = match W::Caller::output(&it.call, answered) {
                Ok(output) => Done::Committed(output),
                Err(Error::Aborted(abort)) => Done::Aborted(abort.code),
                Err(_) if is_unknown => Done::Unknown,
                // It was not begun; the client makes another call.
                Err(Error::Overloaded { .. }) => {
                    self.refused += 1;
                    self.call(now_ns, out);
                    continue;
                }
                Err(error) => Done::Failed(error.to_string()),
            };
            self.finish(it, now_ns, end);
            match self.caller.pause_ns() {
                0 => self.call(now_ns, out),
                pause_ns => self.calls_at_ns = Some(now_ns + pause_ns),
            }
        }
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.under_way.is_some()
    }

    pub(super) fn restart_timed_out(&mut self, patience_us: u64, now_ns: u64, out: &mut Outbox) {
        // As a real client does.
        if self.away || !self.router.coordinates() {
            return;
        }
        // Different timeouts, so that two clients that block each other do not restart at the same time for ever.
        let mine = patience_us + patience_us * u64::from(self.number % 16) / 16;
        self.router.restart_timed_out(mine, now_ns / 1_000, out);
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
