//! The bases of an executor's journal, and the copy of its rows for a replica that joins.
//!
//! Both are the rows as they are between two epochs. They are copied in pieces while transactions run: a row that
//! changes before it was copied is copied first. So there is one of them at a time.

use std::collections::BTreeMap;

use glassbox::research::shard::Shard;

use crate::protocol::address::Address;
use crate::protocol::entry::{Base, Entry};
use crate::protocol::input::{Digests, OrderSettings};
use crate::protocol::message::Message;
use crate::protocol::outbox::Outbox;

/// Bytes of exchanges after which a base begins: less than a channel may have in flight.
const EXCHANGE_BYTES: usize = 16 << 20;

/// The bases of an executor's journal.
#[derive(Debug, Default)]
pub(super) struct Bases {
    /// Whether there is a journal, or the memory is one: others keep what it may need after a restart.
    pub(super) has_journal: bool,
    /// Whether the memory is the journal: its rows are a base, and after a restart another replica's.
    pub(super) in_memory: bool,
    /// Whether a base begins as soon as no transaction is active.
    pub(super) is_due: bool,
    /// The sequencer that has asked for a base, and has no answer yet.
    pub(super) asked_by: Option<Address>,
    /// The epoch of the base that is being written.
    pub(super) making: Option<u64>,
    /// Inputs since the last base.
    pub(super) inputs: u32,
    /// Bytes of exchanges since the last base: their senders keep them until the next one.
    pub(super) received_bytes: usize,
    /// Replicas of the partition that wait for the rows, with the numbers of their requests.
    joining: Vec<(Address, u64)>,
    /// The copy of the rows for one of them.
    copy: Option<RowsCopy>,
    /// In a replica set: the digests of the last epochs, which another sequencer may not have received.
    pub(super) reported: BTreeMap<u64, Digests>,
    /// The epoch of the last base that is durable.
    pub(super) based: u64,
}

impl Bases {
    /// Whether no further input may begin: the rows are to be fixed between two epochs.
    pub(super) fn needs_pause(&self) -> bool {
        self.copy.is_none() && (self.is_due || !self.joining.is_empty() && self.making.is_none())
    }

    /// Whether another base may begin, after this number of inputs or the bytes of exchanges that others should keep.
    pub(super) fn may_begin(&self, inputs: u32) -> bool {
        let is_idle = self.has_journal && !self.is_due && self.making.is_none();
        is_idle && (self.inputs > inputs || self.received_bytes > EXCHANGE_BYTES)
    }

    /// A replica waits for the rows. If it has asked before, it waits for this answer only.
    pub(super) fn add_joining(&mut self, replica: Address, since: u64) {
        self.copy.iter_mut().filter(|copy| copy.to == replica).for_each(|copy| copy.is_vain = true);
        self.joining.retain(|(other, _)| *other != replica);
        self.joining.push((replica, since));
    }

    /// Fixes the rows for the next replica that waits for them. `base`: the state besides them.
    pub(super) fn begin_copy(&mut self, shard: &mut Shard, base: Base) {
        if !self.joining.is_empty() {
            let (to, since) = self.joining.remove(0);
            shard.fix();
            self.copy = Some(RowsCopy::new(to, since, base));
        }
    }

    /// Sends no rows any more.
    pub(super) fn end_copies(&mut self, shard: &mut Shard) {
        self.joining.clear();
        if self.copy.take().is_some() {
            shard.unfix();
        }
    }

    /// When [`Self::copy_on`] is to be called, in microseconds.
    pub(super) fn next_copy_us(&self) -> Option<u64> {
        self.copy.as_ref().map(RowsCopy::next_us)
    }

    /// So many pieces of a copy have arrived.
    pub(super) fn arrived(&mut self, from: Address, since: u64, pieces: u64) {
        if let Some(copy) = self.copy.as_mut().filter(|copy| (copy.to, copy.since) == (from, since)) {
            (copy.arrived, copy.heard_at_us) = (pieces.clamp(copy.arrived, copy.sent), None);
        }
    }

    /// Sends what is due of a copy; whether it has ended.
    pub(super) fn copy_on(&mut self, shard: &mut Shard, order: &OrderSettings, now_us: u64, out: &mut Outbox) -> bool {
        let has_ended = self.copy.as_mut().is_some_and(|copy| copy.send_next(shard, order, now_us, out));
        if has_ended {
            self.copy = None;
            shard.unfix();
        }
        has_ended
    }
}

/// Bytes of rows, or about so many of entries, in one message.
const PIECE_BYTES: usize = 256 << 10;
/// Pieces that may be under way.
const WINDOW: u64 = 4;
/// How long none of them may arrive, in microseconds, before the copy is given up: the other replica has failed, or
/// asks another one.
const PATIENCE_US: u64 = 5_000_000;

/// A copy of the rows that is being sent.
#[derive(Debug)]
struct RowsCopy {
    to: Address,
    /// The number of the request.
    since: u64,
    /// The state besides the rows, without what follows them.
    base: Base,
    /// Entries that follow the rows.
    entries: std::vec::IntoIter<Entry>,
    has_rows: bool,
    /// Pieces that were sent.
    sent: u64,
    /// Pieces that have arrived.
    arrived: u64,
    /// When the next one may be sent, in microseconds.
    next_at_us: u64,
    /// When one had arrived; `None`: this has not been looked at.
    heard_at_us: Option<u64>,
    /// Whether the other replica has asked again.
    is_vain: bool,
}

impl RowsCopy {
    fn new(to: Address, since: u64, base: Base) -> Self {
        let entries = base.remembered.into_iter();
        let base = Base { remembered: Vec::new(), ..base };
        let (has_rows, is_vain) = (true, false);
        Self { to, since, base, entries, has_rows, sent: 0, arrived: 0, next_at_us: 0, heard_at_us: None, is_vain }
    }

    fn next_us(&self) -> u64 {
        match self.heard_at_us {
            _ if self.is_vain => 0,
            Some(heard_at_us) if self.is_full() => heard_at_us + PATIENCE_US,
            Some(_) => self.next_at_us,
            None => 0,
        }
    }

    fn is_full(&self) -> bool {
        self.sent >= self.arrived + WINDOW
    }

    /// Sends the next piece if it is time; whether it was the last one, or is in vain.
    fn send_next(&mut self, shard: &mut Shard, order: &OrderSettings, now_us: u64, out: &mut Outbox) -> bool {
        self.heard_at_us.get_or_insert(now_us);
        if now_us < self.next_us() {
            return false;
        }
        if self.is_vain || self.is_full() {
            return true;
        }
        let since = self.since;
        let mut rows = Vec::new();
        let fixed = if self.has_rows { shard.fixed(PIECE_BYTES, &mut rows) } else { None };
        let (message, bytes) = if let Some((table, _)) = fixed {
            let bytes = rows.len();
            (Message::Rows { since, table, rows }, bytes)
        } else {
            self.has_rows = false;
            let (entries, bytes) = self.next_entries();
            if entries.is_empty() {
                out.send(self.to, Message::State { since, pieces: self.sent, base: Box::new(self.base.clone()) });
                return true;
            }
            (Message::Remember { since, entries }, bytes)
        };
        out.send(self.to, message);
        self.sent += 1;
        self.next_at_us = now_us + order.pause_after_rows_us(bytes);
        false
    }

    fn next_entries(&mut self) -> (Vec<Entry>, usize) {
        let (mut entries, mut bytes) = (Vec::new(), 0);
        while bytes < PIECE_BYTES
            && let Some(entry) = self.entries.next()
        {
            bytes += size_of::<Entry>() + if let Entry::Sent(_, exchange) = &entry { exchange.bytes() } else { 0 };
            entries.push(entry);
        }
        (entries, bytes)
    }
}
