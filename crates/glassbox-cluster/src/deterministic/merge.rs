//! One order of the epochs of several sequencers, each of which numbers its own by its clock.
//!
//! The paper's second way to order inputs (VLDB 2014, section 2.3). Epoch `time * sequencers + number` has the inputs
//! that the sequencer with this number has taken up to the end of this interval of time; it makes one in each interval,
//! also without inputs. The paper executes an epoch after a delay, in the hope that no earlier one arrives later. Here
//! it is executed once every sequencer has sent its epoch of the same interval, or a later one: clocks that differ cost
//! time, and never the order. So a sequencer that is silent stops all partitions.

use std::collections::VecDeque;

use crate::protocol::input::InputBatch;

/// No sequencer's clock comes so far.
const MAX_EPOCH: u64 = u64::MAX / 2;

/// See the module. Of a single sequencer, each epoch is due when it arrives.
#[derive(Debug)]
pub struct Merge {
    streams: Vec<Stream>,
}

/// The epochs of one sequencer.
#[derive(Debug)]
struct Stream {
    /// The last one that has arrived.
    received: u64,
    /// Those with inputs that are not due.
    early: VecDeque<InputBatch>,
}

impl Merge {
    /// Streams of this number of sequencers, of which all epochs up to this one have arrived.
    pub fn new(sequencers: usize, epoch: u64) -> Self {
        let count = sequencers as u64;
        // The last one of each up to there.
        let received = |number: u64| epoch.saturating_sub((epoch + count - number) % count);
        let stream = |number| Stream { received: received(number), early: VecDeque::new() };
        Self { streams: (0..count).map(stream).collect() }
    }

    /// The sequencer that made an epoch.
    pub fn source(&self, epoch: u64) -> usize {
        (epoch % self.streams.len() as u64) as usize
    }

    /// The last epoch of a sequencer that has arrived.
    pub fn received(&self, sequencer: usize) -> u64 {
        self.streams[sequencer].received
    }

    /// Receives a batch; one that has arrived before, or is none of the sequencer's, is ignored.
    ///
    /// # Errors
    /// Those before it were lost, or its sender waits to be asked for the rest: the last epoch that has arrived.
    pub fn receive(&mut self, sequencer: usize, batch: InputBatch) -> Result<(), u64> {
        let is_its = self.source(batch.epoch) == sequencer && batch.epoch < MAX_EPOCH;
        let stream = &mut self.streams[sequencer];
        if batch.epoch <= stream.received || !is_its {
            return if batch.has_more && is_its { Err(stream.received) } else { Ok(()) };
        }
        if batch.before != stream.received {
            return Err(stream.received);
        }
        stream.received = batch.epoch;
        if !batch.inputs.is_empty() {
            stream.early.push_back(batch);
        }
        Ok(())
    }

    /// The epoch up to which all have arrived: a sequencer makes one in each interval, so its next one is at least that
    /// of the next interval.
    pub fn complete(&self) -> u64 {
        let next = self.streams.iter().map(|stream| stream.received + self.streams.len() as u64).min();
        next.map_or(0, |next| next - 1)
    }

    /// The next epoch with inputs that is due.
    pub fn next_due(&mut self) -> Option<InputBatch> {
        let complete = self.complete();
        let first = |stream: &Stream| stream.early.front().map_or(u64::MAX, |batch| batch.epoch);
        let stream = self.streams.iter_mut().min_by_key(|stream| first(stream))?;
        stream.early.pop_front_if(|batch| batch.epoch <= complete)
    }

    /// Whether no epoch with inputs waits.
    pub fn is_empty(&self) -> bool {
        self.streams.iter().all(|stream| stream.early.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use glassbox::record::Timestamp;
    use glassbox::research::shard::{Call, PartitionSet};

    use super::*;
    use crate::protocol::address::Address;
    use crate::protocol::input::{Input, InputKeys};

    fn batch(before: u64, epoch: u64, inputs: u32) -> InputBatch {
        let input = |index| Input {
            index,
            client: Address::Client(0),
            call_id: 0,
            attempt: 0,
            call: Call { procedure: 0, arguments: Vec::new().into(), now: Timestamp::default(), seed: 0 },
            version: 0,
            participants: PartitionSet::of(0),
            keys: InputKeys::Declared,
        };
        let (inputs, digests) = ((0..inputs).map(input).collect(), Vec::new());
        InputBatch { before, epoch, sealed_in: 1, has_more: false, inputs, digests }
    }

    fn due(merge: &mut Merge) -> Vec<u64> {
        std::iter::from_fn(|| merge.next_due()).map(|batch| batch.epoch).collect()
    }

    #[test]
    fn an_epoch_is_due_once_every_sequencer_has_passed_it() {
        let mut merge = Merge::new(2, 0);
        // Sequencer 1 is fast.
        for (before, epoch) in [(0, 3), (3, 5), (5, 7)] {
            merge.receive(1, batch(before, epoch, 1)).unwrap();
        }
        assert_eq!((due(&mut merge), merge.complete()), (vec![], 1));
        // Sequencer 0 has no input in the first interval, and says how late it is.
        merge.receive(0, batch(0, 2, 0)).unwrap();
        assert_eq!((due(&mut merge), merge.complete()), (vec![3], 3));
        merge.receive(0, batch(2, 4, 1)).unwrap();
        assert_eq!((due(&mut merge), merge.is_empty()), (vec![4, 5], false));
        merge.receive(0, batch(4, 8, 0)).unwrap();
        assert_eq!((due(&mut merge), merge.is_empty(), merge.source(7)), (vec![7], true, 1));
    }

    #[test]
    fn streams_go_on_after_an_epoch() {
        let received = |epoch| (0..3).map(|number| Merge::new(3, epoch).received(number)).collect::<Vec<_>>();
        assert_eq!([received(0), received(7), received(8)], [[0, 0, 0], [6, 7, 5], [6, 7, 8]]);
        assert_eq!([0, 7, 8].map(|epoch| Merge::new(3, epoch).complete()), [2, 7, 8]);
    }

    #[test]
    fn a_gap_is_reported_and_a_repetition_ignored() {
        let mut merge = Merge::new(1, 4);
        assert_eq!(merge.receive(0, batch(5, 6, 1)), Err(4));
        merge.receive(0, batch(4, 5, 1)).unwrap();
        merge.receive(0, batch(4, 5, 1)).unwrap();
        assert_eq!((due(&mut merge), merge.received(0)), (vec![5], 5));
        // The sender has more, and waits to be asked.
        assert_eq!(merge.receive(0, InputBatch { has_more: true, ..batch(3, 4, 1) }), Err(5));
    }

    #[test]
    fn an_epoch_of_another_sequencer_or_beyond_all_clocks_is_ignored() {
        let mut merge = Merge::new(2, 0);
        for wrong in [batch(0, 3, 1), batch(0, u64::MAX - 1, 1)] {
            merge.receive(0, wrong).unwrap();
        }
        merge.receive(1, batch(0, 3, 1)).unwrap();
        assert_eq!((merge.received(0), merge.received(1), due(&mut merge)), (0, 3, vec![]));
    }
}
