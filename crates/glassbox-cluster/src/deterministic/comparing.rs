//! The comparison of replica sets: what they have changed in an epoch is the same, or some of them stop.
//!
//! A replica reports a digest of its changes for each input that has committed. The majority of the sets is right: the
//! others stop, and take the rows of one that is right. Without a majority all stop, and have no place until an
//! operator settles which of them is right: the group that agrees notes both in its log.

use std::collections::BTreeMap;

use crate::deterministic::epoch_log::SealedEpoch;
use crate::deterministic::sequencer::{MAX_DISPUTE_US, Sequencer};
use crate::protocol::address::Address;
use crate::protocol::input::{Digests, Input};
use crate::protocol::message::StopReason;
use crate::protocol::outbox::Outbox;

/// Epochs that are looked at in one step when a partition's are compared again: a few milliseconds.
const COMPARED_AT_ONCE: usize = 16_384;

/// The result of a comparison of reports.
#[derive(Debug, PartialEq, Eq)]
enum Comparison {
    /// All reports are equal.
    Equal,
    /// They differ, and some are missing.
    Open,
    /// The majority is right, and these are not.
    Wrong(Vec<Address>),
    /// There is no majority.
    Undecided,
}

/// Compares the reports of these replicas.
fn judge(replicas: &[Address], reports: &BTreeMap<Address, &Digests>) -> Comparison {
    let here: Vec<_> = replicas.iter().filter_map(|it| Some((*it, *reports.get(it)?))).collect();
    let of_majority = |digests: &Digests| 2 * here.iter().filter(|(_, it)| *it == digests).count() > replicas.len();
    if here.iter().all(|(_, digests)| *digests == here[0].1) {
        return Comparison::Equal;
    }
    match here.iter().find(|(_, digests)| of_majority(digests)) {
        Some((_, right)) => Comparison::Wrong(here.iter().filter(|(_, it)| it != right).map(|(it, _)| *it).collect()),
        None if here.len() < replicas.len() => Comparison::Open,
        None => Comparison::Undecided,
    }
}

/// The first input in which the reports differ.
fn first_difference(inputs: &[Input], reports: &BTreeMap<Address, &Digests>, replicas: &[Address]) -> Option<Input> {
    let of = |digests: &Digests, index: u32| {
        digests.binary_search_by_key(&index, |(it, _)| *it).ok().map(|at| digests[at].1)
    };
    let differs = |input: &&Input| {
        let mut all = replicas.iter().filter_map(|it| reports.get(it)).map(|digests| of(digests, input.index));
        let first = all.next();
        all.any(|other| Some(other) != first)
    };
    inputs.iter().find(differs).cloned()
}

impl Sequencer {
    /// Compares what the replicas of a partition have changed in an epoch.
    pub(super) fn compare(&mut self, epoch: u64, partition: u8, now_us: u64, out: &mut Outbox) {
        let since_us = self.disputed.remove(&(epoch, partition)).unwrap_or(now_us);
        if self.halted.contains_key(&partition) {
            return;
        }
        let replicas = self.replicas_of(partition);
        let Some((comparison, input)) = self.compared(epoch, &replicas) else { return };
        match comparison {
            Comparison::Equal => {}
            Comparison::Open if now_us < since_us + MAX_DISPUTE_US => {
                self.disputed.insert((epoch, partition), since_us);
            }
            Comparison::Wrong(wrong) => {
                let why = |input| StopReason::Differs { epoch, input };
                wrong.into_iter().for_each(|it| self.stop(it, why(input.clone()), out));
            }
            Comparison::Open | Comparison::Undecided => {
                self.undecided.push((partition, StopReason::Undecided { epoch, input }));
            }
        }
    }

    /// The group has noted that no majority says which rows of a partition are right: its replicas stop.
    pub(crate) fn halt(&mut self, partition: u8, why: &StopReason, out: &mut Outbox) {
        self.halted.insert(partition, why.clone());
        self.disputed.retain(|(_, other), _| *other != partition);
        self.uncompared.remove(&partition);
        self.replicas_of(partition).into_iter().for_each(|it| self.stop(it, why.clone(), out));
    }

    /// An operator has settled which rows of a partition are right: what its replicas have reported is void.
    pub(crate) fn settle(&mut self, partition: u8) {
        self.halted.remove(&partition);
        self.replicas_of(partition).into_iter().for_each(|it| self.note_joining(it));
    }

    /// The comparison of an epoch, if these replicas differ, and the first input in which they do.
    fn compared(&self, epoch: u64, replicas: &[Address]) -> Option<(Comparison, Input)> {
        let sealed = self.epochs.sealed(epoch).filter(|sealed| self.differ(sealed, replicas))?;
        // Only of replicas that go on: a stopped one is started again with what may be other rows.
        let reports = sealed.digests.iter().filter(|(replica, _)| self.has_resumed(**replica));
        let reports: BTreeMap<_, _> = reports.map(|(replica, digests)| (*replica, digests)).collect();
        let comparison = Some(judge(replicas, &reports)).filter(|it| *it != Comparison::Equal)?;
        Some((comparison, first_difference(&sealed.inputs(), &reports, replicas)?))
    }

    /// Whether the reports of those of these replicas that go on differ.
    fn differ(&self, sealed: &SealedEpoch, replicas: &[Address]) -> bool {
        let is_of_these = |replica: &Address| replicas.contains(replica) && self.has_resumed(*replica);
        let mut reports = sealed.digests.iter().filter(|(replica, _)| is_of_these(replica)).map(|(_, digests)| digests);
        let first = reports.next();
        reports.any(|digests| Some(digests) != first)
    }

    /// Compares all epochs of a partition, some at each [tick](Self::tick): there may be millions.
    pub(super) fn compare_all(&mut self, partition: u8, now_us: u64, out: &mut Outbox) {
        self.uncompared.insert(partition, 0);
        self.compare_more(now_us, out);
    }

    /// Compares the epochs up to this one that are still to be compared: they are about to be forgotten.
    pub(super) fn compare_upto(&mut self, partition: u8, epoch: u64, now_us: u64, out: &mut Outbox) {
        if let Some(after) = self.uncompared.get(&partition).copied().filter(|after| *after < epoch) {
            self.compare_epochs(partition, (after, epoch), usize::MAX, now_us, out);
            self.uncompared.insert(partition, epoch);
        }
    }

    /// Compares some of the epochs that are to be compared.
    pub(super) fn compare_more(&mut self, now_us: u64, out: &mut Outbox) {
        let Some((&partition, &after)) = self.uncompared.first_key_value() else { return };
        match self.compare_epochs(partition, (after, u64::MAX), COMPARED_AT_ONCE, now_us, out) {
            Some(last) => _ = self.uncompared.insert(partition, last),
            None => _ = self.uncompared.remove(&partition),
        }
    }

    /// Compares at most so many epochs after one, up to another. The last one, if there may be more.
    fn compare_epochs(
        &mut self,
        partition: u8,
        (after, upto): (u64, u64),
        most: usize,
        now_us: u64,
        out: &mut Outbox,
    ) -> Option<u64> {
        let mut replicas = self.replicas_of(partition);
        // Those are stopped already.
        replicas.retain(|it| self.has_resumed(*it) && !self.unfit.contains(it));
        let (mut last, mut compared, mut differing) = (None, 0, Vec::new());
        for sealed in self.epochs.after(after).take(most).take_while(|it| it.epoch <= upto) {
            (last, compared) = (Some(sealed.epoch), compared + 1);
            if self.differ(sealed, &replicas) || self.disputed.contains_key(&(sealed.epoch, partition)) {
                differing.push(sealed.epoch);
            }
        }
        differing.into_iter().for_each(|epoch| self.compare(epoch, partition, now_us, out));
        last.filter(|_| compared == most)
    }

    /// Compares again the epochs in which replica sets differ: another configuration may decide them, or their time is
    /// up.
    pub(super) fn compare_disputed(&mut self, now_us: u64, out: &mut Outbox) {
        for (epoch, partition) in self.disputed.keys().copied().collect::<Vec<_>>() {
            self.compare(epoch, partition, now_us, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replicas(count: u8) -> Vec<Address> {
        (0..count).map(|replica| Address::Replica { partition: 0, replica }).collect()
    }

    fn judged(count: u8, digests: &[u64]) -> Comparison {
        let digests: Vec<Digests> = digests.iter().map(|it| vec![(0, *it)]).collect();
        judge(&replicas(count), &replicas(count).into_iter().zip(&digests).collect())
    }

    #[test]
    fn the_majority_of_all_sets_is_right() {
        assert_eq!([judged(3, &[]), judged(3, &[7]), judged(3, &[7, 7, 7])], [const { Comparison::Equal }; 3]);
        assert_eq!(judged(3, &[7, 8]), Comparison::Open);
        assert_eq!(judged(3, &[7, 8, 7]), Comparison::Wrong(vec![replicas(3)[1]]));
        assert_eq!(judged(5, &[7, 7, 7, 8]), Comparison::Wrong(vec![replicas(4)[3]]));
        assert_eq!([judged(2, &[7, 8]), judged(3, &[7, 8, 9])], [const { Comparison::Undecided }; 2]);
    }
}
