//! A client's part: knows the catalog, sends each call where it has to go, and puts together what comes back.
//!
//! A call on one partition goes straight to its primary. One on several goes to the coordinator; under locking the
//! client coordinates it itself. A procedure may turn out to need partitions that it had not declared: its call then
//! goes out again.

use std::collections::BTreeMap;
use std::sync::Arc;

use glassbox::record::Timestamp;
use glassbox::shard::{Call, Route};
use glassbox::{Abort, Catalog, Error, Procedure};

use crate::address::Address;
use crate::coordinator::Coordinator;
use crate::message::{FragmentResult, Message, Outcome, Submission};
use crate::outbox::Outbox;
use crate::scheme::SchemeKind;

/// A call that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The number that [`Router::call`] gave it.
    pub id: u64,
    /// What came of it; see [`Router::output`].
    pub outcome: Outcome,
    /// The partition whose output counts.
    pub home: u8,
}

/// A client's connection to a cluster, without the connecting.
#[derive(Debug)]
pub struct Router {
    catalog: Arc<Catalog>,
    primaries: Vec<Address>,
    central: Address,
    /// Under locking, this client's own.
    own: Option<Coordinator>,
    me: Address,
    next: u64,
    waiting: BTreeMap<u64, Waiting>,
}

#[derive(Debug)]
struct Waiting {
    call: Call,
    home: u8,
}


impl Router {
    /// A client of a cluster: where each partition's primary is, and the coordinator.
    pub fn new(
        me: Address,
        catalog: Arc<Catalog>,
        primaries: Vec<Address>,
        central: Address,
        scheme: SchemeKind,
    ) -> Self {
        let own = scheme.is_locking().then(|| Coordinator::new(me, primaries.clone()));
        Self { catalog, primaries, central, own, me, next: 0, waiting: BTreeMap::new() }
    }

    /// Sends a call; its number.
    ///
    /// # Errors
    /// When the catalog does not name the procedure, or its arguments cannot be encoded.
    pub fn call<P: Procedure>(&mut self, procedure: &P, now_us: u64, seed: u64, out: &mut Outbox) -> Result<u64, Error> {
        let arguments = postcard::to_allocvec(procedure)
            .map_err(|error| Error::Config(format!("procedure `{}` cannot be encoded: {error}", P::NAME)))?;
        let now = Timestamp::from_micros(now_us as i64);
        let call = Call { procedure: self.catalog.number_of::<P>()?, arguments, now, seed };
        let route = self.catalog.route(&call, self.primaries.len()).map_err(Error::Config)?;
        let id = self.next;
        self.next += 1;
        self.waiting.insert(id, Waiting { call, home: route.home });
        self.send(id, route, now_us, out);
        Ok(id)
    }

    fn send(&mut self, id: u64, route: Route, now_us: u64, out: &mut Outbox) {
        let call = self.waiting[&id].call.clone();
        if route.partitions.is_power_of_two() {
            let primary = self.primaries[route.partitions.trailing_zeros() as usize];
            return out.send(primary, Message::Call { id, call });
        }
        let submission = Submission { id, call, participants: route.partitions, shared: route.shared };
        match &mut self.own {
            Some(own) => own.submit(self.me, submission, now_us, out),
            None => out.send(self.central, Message::Submit(submission)),
        }
    }

    /// A message arrives; the calls that have ended.
    pub fn handle(&mut self, message: Message, now_us: u64, out: &mut Outbox) -> Vec<Answered> {
        match message {
            Message::Answer { id, outcome } => self.answered(id, outcome, now_us, out).into_iter().collect(),
            Message::Result(result) => self.hears(result, now_us, out),
            _ => Vec::new(),
        }
    }

    fn hears(&mut self, result: FragmentResult, now_us: u64, out: &mut Outbox) -> Vec<Answered> {
        let Some(own) = &mut self.own else { return Vec::new() };
        let ended = own.hears(result, now_us, out);
        ended.into_iter().filter_map(|end| self.answered(end.id, end.outcome, now_us, out)).collect()
    }

    fn answered(&mut self, id: u64, outcome: Outcome, now_us: u64, out: &mut Outbox) -> Option<Answered> {
        let home = self.waiting.get(&id)?.home;
        if let Outcome::Elsewhere(partitions) = outcome {
            let all = u64::MAX >> (64 - self.primaries.len());
            let partitions = (partitions | 1 << home) & all;
            self.send(id, Route { partitions, home, shared: Vec::new() }, now_us, out);
            return None;
        }
        self.waiting.remove(&id);
        Some(Answered { id, outcome, home })
    }

    /// Tries again what takes longer than so long: under locking, it may be in a deadlock across partitions.
    pub fn give_up_waiting(&mut self, patience_us: u64, now_us: u64, out: &mut Outbox) {
        if let Some(own) = &mut self.own {
            own.give_up_waiting(patience_us, now_us, out);
        }
    }

    /// How often a transaction of this client's own coordination was tried again because of a deadlock.
    pub fn retries(&self) -> u64 {
        self.own.as_ref().map_or(0, Coordinator::retries)
    }

    /// The output of a call of this procedure, of all partitions' parts.
    ///
    /// # Errors
    /// The procedure's abort; an outcome that cannot be read.
    pub fn output<P: Procedure>(answered: &Answered) -> Result<P::Output, Error> {
        let read = |bytes: &[u8]| {
            let bad = |error| Error::Config(format!("the answer of procedure `{}` cannot be read: {error}", P::NAME));
            postcard::from_bytes::<P::Output>(bytes).map_err(bad)
        };
        match &answered.outcome {
            Outcome::Done(parts) => {
                let home = parts.iter().find(|(partition, _)| *partition == answered.home).or(parts.first());
                let (home, bytes) = home.ok_or_else(|| Error::Config("an answer without parts".to_owned()))?;
                let mut output = read(bytes)?;
                for (_, bytes) in parts.iter().filter(|(partition, _)| partition != home) {
                    P::merge(&mut output, read(bytes)?);
                }
                Ok(output)
            }
            Outcome::Aborted(abort) => Err(Error::Aborted(Abort::clone(abort))),
            Outcome::Elsewhere(_) => Err(Error::Config("a call ended on too few partitions".to_owned())),
            Outcome::Failed(why) => Err(Error::Config(why.clone())),
        }
    }
}
