//! A reconnaissance as its client conducts it: rounds at all participants, until each has run to the end.
//!
//! A run that needs rows of other partitions stops, as under a coordinator; the next round reads the rows there, and
//! the one after runs with them. Nothing isolates the rounds, so the keys found may be a set that no run would touch.
//! Under its locks a run is compared with it, as with one that is out of date.

use glassbox::research::shard::{DeclaredKeys, KeyRequest, PartitionSet, RemoteRead, RemoteReadResult};

use crate::coordinator::commit::wanted_of;
use crate::protocol::message::{FragmentWork, ReconnaissanceEnd, ReconnaissanceResult};

/// Rounds of a reconnaissance; one with more follows rows that change meanwhile.
const MAX_ROUNDS: u32 = 64;
/// Bytes of rows that are sent with a request.
const MAX_GIVEN_BYTES: usize = 4 << 20;

/// See the module.
#[derive(Debug)]
pub(crate) struct Reconnaissance {
    first_round: u32,
    /// The present round.
    pub(crate) round: u32,
    participants: PartitionSet,
    /// Participants whose results of the round are missing.
    awaited: PartitionSet,
    /// Participants that have not run to the end.
    unfinished: PartitionSet,
    /// Missing participants.
    elsewhere: PartitionSet,
    /// Remote rows that runs need and that were not read.
    wanted: Vec<RemoteRead>,
    /// Rows that were read.
    given: Vec<RemoteReadResult>,
    found: Vec<(u8, Vec<KeyRequest>)>,
    is_vain: bool,
}

/// The consequence of a result.
#[derive(Debug, PartialEq)]
pub(crate) enum ReconnaissanceStep {
    /// Other results of the round are missing.
    Wait,
    /// The next round: the work of some participants.
    Round(Vec<(usize, FragmentWork)>),
    /// The keys of each participant.
    Found(Vec<(u8, DeclaredKeys)>),
    /// These participants are missing.
    Elsewhere(PartitionSet),
    /// The keys cannot be found.
    Unknown,
}

impl Reconnaissance {
    /// A reconnaissance at these participants, and its first round. `shared`: rows that every run needs.
    pub(crate) fn begin(
        participants: PartitionSet,
        shared: Vec<RemoteRead>,
        round: u32,
    ) -> (Self, Vec<(usize, FragmentWork)>) {
        let found = participants.iter().map(|partition| (partition as u8, Vec::new())).collect();
        let mut begun = Self {
            first_round: round,
            round,
            participants,
            awaited: PartitionSet::EMPTY,
            unfinished: participants,
            elsewhere: PartitionSet::EMPTY,
            wanted: Vec::new(),
            given: Vec::new(),
            found,
            is_vain: false,
        };
        begun.want(shared);
        let first = begun.next_works();
        (begun, first)
    }

    /// The work of the next round: reads, if rows are missing, or else runs with them.
    fn next_works(&mut self) -> Vec<(usize, FragmentWork)> {
        let wanted = std::mem::take(&mut self.wanted);
        let works: Vec<_> = if wanted.is_empty() {
            let given = |partition: usize| {
                let others = self.given.iter().filter(|row| usize::from(row.partition) != partition);
                FragmentWork::Run(others.cloned().collect())
            };
            self.unfinished.iter().map(|partition| (partition, given(partition))).collect()
        } else {
            let reads = |partition| (partition, wanted_of(&wanted, partition));
            let all = self.participants.iter().map(reads).filter(|(_, reads)| !reads.is_empty());
            all.map(|(partition, reads)| (partition, FragmentWork::Find(reads))).collect()
        };
        self.awaited = works.iter().map(|(partition, _)| *partition).collect();
        works
    }

    /// Receives a result; others than those of the present round are ignored.
    pub(crate) fn receive(&mut self, result: ReconnaissanceResult) -> ReconnaissanceStep {
        let ReconnaissanceResult { round, partition, keys, end, .. } = result;
        let from = PartitionSet::of(partition.into());
        if round != self.round || self.awaited.intersection(from).is_empty() {
            return ReconnaissanceStep::Wait;
        }
        self.awaited = self.awaited.difference(from);
        let of_it = self.found.iter_mut().find(|(known, _)| *known == partition);
        of_it.into_iter().for_each(|(_, found)| found.extend_from_slice(keys.requests()));
        match end {
            ReconnaissanceEnd::Done => self.unfinished = self.unfinished.difference(from),
            ReconnaissanceEnd::Found(rows) => {
                self.given.extend(rows.into_iter().filter(|it| it.partition == partition))
            }
            ReconnaissanceEnd::Wants(reads) => self.want(reads),
            ReconnaissanceEnd::Elsewhere(partitions) => self.elsewhere.extend(partitions),
            ReconnaissanceEnd::Unknown => self.is_vain = true,
        }
        if self.awaited.is_empty() { self.end_round() } else { ReconnaissanceStep::Wait }
    }

    /// Notes reads that were not made.
    fn want(&mut self, reads: Vec<RemoteRead>) {
        for read in reads {
            let is_given = |partition: &usize| {
                let is = |row: &RemoteReadResult| {
                    (usize::from(row.partition), row.table) == (*partition, read.table) && row.lookup == read.lookup
                };
                self.given.iter().any(is)
            };
            let asked = read.partitions.intersection(self.participants);
            let partitions: PartitionSet = asked.iter().filter(|it| !is_given(it)).collect();
            if !partitions.is_empty() {
                self.wanted.push(RemoteRead { partitions, ..read });
            }
        }
    }

    fn end_round(&mut self) -> ReconnaissanceStep {
        let bytes: usize = self.given.iter().map(|row| row.rows.len() + size_of_val(row)).sum();
        if !self.elsewhere.is_empty() {
            return ReconnaissanceStep::Elsewhere(self.elsewhere);
        }
        if self.is_vain || bytes > MAX_GIVEN_BYTES || self.round - self.first_round >= MAX_ROUNDS {
            return ReconnaissanceStep::Unknown;
        }
        if self.unfinished.is_empty() && self.wanted.is_empty() {
            let found = std::mem::take(&mut self.found).into_iter();
            return ReconnaissanceStep::Found(found.map(|(at, keys)| (at, DeclaredKeys::found(keys))).collect());
        }
        self.round += 1;
        ReconnaissanceStep::Round(self.next_works())
    }
}

#[cfg(test)]
mod tests {
    use glassbox::research::shard::{Lookup, Touch, WatchedKey};

    use super::*;

    fn read(partition: usize) -> RemoteRead {
        RemoteRead { partitions: PartitionSet::of(partition), table: 1, lookup: Lookup::Key(vec![7]), writes: false }
    }

    fn keys(key: u128) -> DeclaredKeys {
        let key = WatchedKey::Short(key);
        DeclaredKeys::found(vec![KeyRequest { space: 256, low: key.clone(), high: key, touch: Touch::Read }])
    }

    fn result(round: u32, partition: u8, key: u128, end: ReconnaissanceEnd) -> ReconnaissanceResult {
        ReconnaissanceResult { id: 1, round, partition, keys: keys(key), end }
    }

    fn row(partition: u8) -> RemoteReadResult {
        RemoteReadResult { partition, table: 1, lookup: Lookup::Key(vec![7]), rows: vec![1, 2] }
    }

    #[test]
    fn rows_of_other_participants_are_read_there_and_given_to_the_next_run() {
        use ReconnaissanceEnd::{Done, Found, Wants};
        let (mut search, first) = Reconnaissance::begin(PartitionSet::all(2), Vec::new(), 5);
        assert_eq!(first, [(0, FragmentWork::Run(Vec::new())), (1, FragmentWork::Run(Vec::new()))]);
        assert_eq!(search.receive(result(5, 0, 1, Wants(vec![read(1)]))), ReconnaissanceStep::Wait);
        assert_eq!(search.receive(result(4, 1, 9, Done)), ReconnaissanceStep::Wait, "an earlier round's");
        assert_eq!(search.receive(result(5, 0, 9, Done)), ReconnaissanceStep::Wait, "another replica's, too late");
        let reads = ReconnaissanceStep::Round(vec![(1, FragmentWork::Find(vec![read(1)]))]);
        assert_eq!(search.receive(result(5, 1, 2, Done)), reads);
        // The other participant has run to the end.
        let run = ReconnaissanceStep::Round(vec![(0, FragmentWork::Run(vec![row(1)]))]);
        assert_eq!(search.receive(result(6, 1, 3, Found(vec![row(1)]))), run);
        let all = |of: &[u128]| DeclaredKeys::found(of.iter().flat_map(|it| keys(*it).requests().to_vec()).collect());
        let found = ReconnaissanceStep::Found(vec![(0, all(&[1, 4])), (1, all(&[2, 3]))]);
        assert_eq!(search.receive(result(7, 0, 4, Done)), found, "with the key that was read for another one");
    }

    #[test]
    fn shared_rows_are_read_before_the_first_run() {
        let (mut search, first) = Reconnaissance::begin(PartitionSet::all(2), vec![read(0), read(3)], 1);
        assert_eq!(first, [(0, FragmentWork::Find(vec![read(0)]))], "partition 3 does not participate");
        let runs = vec![(0, FragmentWork::Run(Vec::new())), (1, FragmentWork::Run(vec![row(0)]))];
        let found = ReconnaissanceEnd::Found(vec![row(0), row(1)]);
        assert_eq!(search.receive(result(1, 0, 1, found)), ReconnaissanceStep::Round(runs), "its own rows alone count");
    }

    #[test]
    fn missing_participants_end_a_reconnaissance_and_so_does_a_run_without_end() {
        let (mut search, _) = Reconnaissance::begin(PartitionSet::of(0), Vec::new(), 1);
        let elsewhere = PartitionSet::of(4);
        let step = search.receive(result(1, 0, 1, ReconnaissanceEnd::Elsewhere(elsewhere)));
        assert_eq!(step, ReconnaissanceStep::Elsewhere(elsewhere));
        let (mut search, _) = Reconnaissance::begin(PartitionSet::of(0), Vec::new(), 1);
        let mut step = ReconnaissanceStep::Wait;
        // It always wants a row that it was given.
        for round in 1..=MAX_ROUNDS + 1 {
            assert_ne!(step, ReconnaissanceStep::Unknown, "round {round}");
            step = search.receive(result(round, 0, 1, ReconnaissanceEnd::Wants(Vec::new())));
        }
        assert_eq!(step, ReconnaissanceStep::Unknown);
        let (mut search, _) = Reconnaissance::begin(PartitionSet::of(0), Vec::new(), 1);
        let step = search.receive(result(1, 0, 1, ReconnaissanceEnd::Unknown));
        assert_eq!(step, ReconnaissanceStep::Unknown);
    }
}
