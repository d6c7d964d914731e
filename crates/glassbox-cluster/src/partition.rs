//! A partition's primary: data, scheme, and stream to the backups.

use glassbox::shard::Shard;

use crate::address::Address;
use crate::message::Message;
use crate::outbox::Outbox;
use crate::scheme::{Scheme, SchemeKind};
use crate::store::{Arrived, Multi, Single, Store};

/// The primary of a partition.
#[derive(Debug)]
pub struct Partition {
    store: Store,
    scheme: Scheme,
    kind: SchemeKind,
}

impl Partition {
    /// A primary with this data, followed by these backups.
    pub fn new(shard: Shard, kind: SchemeKind, backups: &[Address]) -> Self {
        let cascades = matches!(kind, SchemeKind::Speculation | SchemeKind::LocalSpeculation);
        Self { store: Store::new(shard, backups, cascades), scheme: Scheme::new(kind), kind }
    }

    /// The scheme.
    pub fn scheme(&self) -> SchemeKind {
        self.kind
    }

    /// The rows.
    pub fn shard(&mut self) -> &mut Shard {
        self.store.shard()
    }

    /// A message arrives. What is none for a primary is passed over.
    pub fn handle(&mut self, from: Address, message: Message, out: &mut Outbox) {
        match message {
            Message::Call { id, call } => {
                self.scheme.arrives(&mut self.store, Arrived::Single(Single { client: from, id, call }), out);
            }
            Message::Fragment(fragment) if fragment.coordinator() == from => {
                self.scheme.arrives(&mut self.store, Arrived::Multi(Multi::new(fragment)), out);
            }
            Message::Decide { txn, commit } if txn.coordinator == from => {
                if !commit {
                    self.store.hear_abort(txn);
                }
                self.scheme.decided(&mut self.store, txn, commit, out);
            }
            Message::Held { sequence } => self.store.stream.hears(from, sequence, out),
            _ => {}
        }
    }

    /// Runs one thing that waited and can be run now; whether there was one. To be called, when no message is there to
    /// be handled, until it says `false`.
    pub fn proceed(&mut self, out: &mut Outbox) -> bool {
        self.scheme.proceed(&mut self.store, out)
    }

    /// Whether nothing is under way or waiting.
    pub fn is_idle(&self) -> bool {
        self.scheme.is_idle()
    }
}
