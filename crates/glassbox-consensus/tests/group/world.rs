//! A group of members in virtual time, with links, disks and clocks that fail.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use glassbox_consensus::{Agreement, Decided, Output, Settings};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// A fault that is planted to see whether the checks find it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Planted {
    Nothing,
    /// Writes are called durable at once.
    EarlyForce,
    /// A restarted member has forgotten its last writes, although they were durable.
    Forgetting,
    /// A member that was removed answers in place of a present one, and counts.
    CountingRemoved,
}

/// What may go wrong.
#[derive(Debug, Clone, Copy)]
pub struct Faults {
    pub planted: Planted,
    /// Members are killed and restarted.
    pub kills: bool,
    /// All are killed at once.
    pub power_failures: bool,
    /// Links are cut, both ways or one way.
    pub cuts: bool,
    /// Members join and leave.
    pub changes: bool,
    /// The disks of some members are slow.
    pub slow_disks: bool,
    /// Clocks run at different rates.
    pub skew: bool,
}

impl Faults {
    pub const ALL: Self = Self {
        planted: Planted::Nothing,
        kills: true,
        power_failures: true,
        cuts: true,
        changes: true,
        slow_disks: true,
        skew: true,
    };
    pub const NONE: Self = Self {
        planted: Planted::Nothing,
        kills: false,
        power_failures: false,
        cuts: false,
        changes: false,
        slow_disks: false,
        skew: false,
    };
}

enum Event {
    Message {
        from: u64,
        to: u64,
        bytes: Vec<u8>,
    },
    /// A force ends: everything up to this write of this life is durable.
    Forced {
        of: u64,
        life: u64,
        upto: u64,
    },
    Poll {
        of: u64,
        life: u64,
    },
    Restart(u64),
    Propose,
    Incident,
    Heal,
}

/// A member's machine.
struct Machine {
    agreement: Option<Agreement>,
    /// Counts its lives, so that events of an earlier one are told apart.
    life: u64,
    born_us: u64,
    /// Records that are durable, and those that are not yet.
    durable: Vec<Vec<u8>>,
    pending: Vec<(u64, Vec<u8>)>,
    /// Records of a base that replaces those before, when it is durable with these writes.
    disk_us: u64,
    /// Parts in a thousand by which its clock is fast.
    rate: u64,
    /// What it has decided, as a state: numbers by place.
    state: BTreeMap<u64, u64>,
    decided: u64,
}

/// The world.
pub struct World {
    rng: SmallRng,
    faults: Faults,
    now_us: u64,
    events: BTreeMap<(u64, u64), Event>,
    sequence: u64,
    machines: Vec<Machine>,
    /// Links that are cut, one way.
    cut: BTreeSet<(u64, u64)>,
    /// The decision at each place, by whichever member was first.
    agreed: BTreeMap<u64, u64>,
    /// Numbers that a member has seen decided: they must never be lost.
    pub proposed: u64,
    members: Vec<u64>,
    pub trace: String,
    pub elections: BTreeSet<u64>,
    healed: bool,
}

pub type Verdict = Result<(), String>;

const FIRST: [u64; 3] = [0, 1, 2];
const MACHINES: u64 = 5;
/// States are sent, because the log is soon forgotten.
const SETTINGS: Settings = Settings { heartbeat_ms: 30, election_ms: 150, kept_entries: 30 };

impl World {
    pub fn new(seed: u64, faults: Faults) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        let machine = |rng: &mut SmallRng| Machine {
            agreement: None,
            life: 0,
            born_us: 0,
            durable: Vec::new(),
            pending: Vec::new(),
            disk_us: if faults.slow_disks && rng.random_bool(0.2) { 20_000 } else { 300 },
            rate: if faults.skew { rng.random_range(900..1_100) } else { 1_000 },
            state: BTreeMap::new(),
            decided: 0,
        };
        let machines = (0..MACHINES).map(|_| machine(&mut rng)).collect();
        let mut world = Self {
            rng,
            faults,
            now_us: 0,
            events: BTreeMap::new(),
            sequence: 0,
            machines,
            cut: BTreeSet::new(),
            agreed: BTreeMap::new(),
            proposed: 0,
            members: FIRST.to_vec(),
            trace: String::new(),
            elections: BTreeSet::new(),
            healed: false,
        };
        for of in 0..MACHINES {
            world.start(of);
        }
        world.machine(0).agreement.as_mut().unwrap().begin(&FIRST);
        world
    }

    fn machine(&mut self, of: u64) -> &mut Machine {
        &mut self.machines[of as usize]
    }

    fn at(&mut self, after_us: u64, event: Event) {
        self.sequence += 1;
        self.events.insert((self.now_us + after_us, self.sequence), event);
    }

    fn start(&mut self, of: u64) {
        let (seed, now_us) = (self.rng.random(), self.now_us);
        let life = self.machines[of as usize].life;
        let machine = self.machine(of);
        let records = machine.durable.iter().map(Vec::as_slice);
        let agreement = Agreement::new(of, SETTINGS, seed, life, records).expect("its own records");
        (machine.agreement, machine.born_us) = (Some(agreement), now_us);
        machine.life += 1;
        machine.state.clear();
        let life = machine.life;
        self.at(0, Event::Poll { of, life });
    }

    fn kill(&mut self, of: u64) {
        let forgets = self.faults.planted == Planted::Forgetting;
        let machine = self.machine(of);
        if machine.agreement.take().is_none() {
            return;
        }
        machine.pending.clear();
        if forgets {
            let kept = machine.durable.len().saturating_sub(3);
            machine.durable.truncate(kept);
        }
        let after_us = self.rng.random_range(1_000..600_000);
        self.at(after_us, Event::Restart(of));
    }

    /// Runs until this time, in microseconds.
    pub fn run(&mut self, until_us: u64) -> Verdict {
        self.at(20_000, Event::Propose);
        if !self.healed {
            self.at(400_000, Event::Incident);
        }
        while let Some(first) = self.events.first_entry().filter(|first| first.key().0 <= until_us) {
            let ((at_us, _), event) = first.remove_entry();
            self.now_us = at_us;
            self.step(event)?;
        }
        self.now_us = until_us;
        Ok(())
    }

    fn step(&mut self, event: Event) -> Verdict {
        match event {
            Event::Message { from, to, bytes } => {
                if let Some(agreement) = &mut self.machine(to).agreement {
                    agreement.receive(from, &bytes);
                    self.poll(to)?;
                }
            }
            Event::Forced { of, life, upto } if self.machine(of).life == life => {
                let machine = self.machine(of);
                let Some(agreement) = &mut machine.agreement else { return Ok(()) };
                let done = machine.pending.partition_point(|(number, _)| *number <= upto);
                machine.durable.extend(machine.pending.drain(..done).map(|(_, record)| record));
                agreement.forced(upto);
                self.poll(of)?;
            }
            Event::Poll { of, life } if self.machine(of).life == life && self.machine(of).agreement.is_some() => {
                self.poll(of)?;
                let every = self.machines[of as usize].agreement.as_ref().map(Agreement::poll_every);
                self.at(every.unwrap_or_default().as_micros() as u64, Event::Poll { of, life });
            }
            Event::Forced { .. } | Event::Poll { .. } => {}
            Event::Restart(of) => {
                if self.machine(of).agreement.is_none() {
                    self.start(of);
                }
            }
            Event::Propose => {
                self.propose()?;
                let after_us = self.rng.random_range(500..8_000);
                self.at(after_us, Event::Propose);
            }
            Event::Incident => {
                if !self.healed {
                    self.incident();
                    let after_us = self.rng.random_range(50_000..900_000);
                    self.at(after_us, Event::Incident);
                }
            }
            Event::Heal => self.cut.clear(),
        }
        Ok(())
    }

    fn propose(&mut self) -> Verdict {
        // Every member that believes to lead proposes: a leader that was replaced must not succeed.
        for of in 0..MACHINES {
            let proposed = self.proposed + 1;
            let Some(agreement) = &mut self.machine(of).agreement else { continue };
            if agreement.leadership().is_ready {
                agreement.propose(Arc::from(proposed.to_le_bytes()));
                self.proposed = proposed;
                self.poll(of)?;
            }
        }
        Ok(())
    }

    fn incident(&mut self) {
        let of = self.rng.random_range(0..MACHINES);
        let faults = self.faults;
        match self.rng.random_range(0..8) {
            0 | 1 if faults.kills => self.kill(of),
            2 if faults.kills => {
                if let Some(leader) = self.leader() {
                    self.kill(leader);
                }
            }
            3 if faults.power_failures && self.rng.random_bool(0.3) => (0..MACHINES).for_each(|of| self.kill(of)),
            4 | 5 if faults.cuts => {
                let one_way: bool = self.rng.random();
                for other in 0..MACHINES {
                    if other != of && self.rng.random_bool(0.7) {
                        self.cut.insert((of, other));
                        if !one_way {
                            self.cut.insert((other, of));
                        }
                    }
                }
                let after_us = self.rng.random_range(10_000..1_500_000);
                self.at(after_us, Event::Heal);
            }
            6 if faults.changes => self.change_members(),
            7 => self.base(of),
            _ => {
                if let Some(leader) = self.leader()
                    && faults.changes
                {
                    self.machine(leader).agreement.as_mut().unwrap().transfer_to(of);
                }
            }
        }
    }

    fn leader(&self) -> Option<u64> {
        (0..MACHINES)
            .find(|of| self.machines[*of as usize].agreement.as_ref().is_some_and(|it| it.leadership().is_ready))
    }

    fn change_members(&mut self) {
        let Some(leader) = self.leader() else { return };
        let count = self.rng.random_range(1..=4);
        let mut members: BTreeSet<u64> = (0..count).map(|_| self.rng.random_range(0..MACHINES)).collect();
        members.insert(self.rng.random_range(0..MACHINES));
        self.members = members.into_iter().collect();
        let members = self.members.clone();
        self.machine(leader).agreement.as_mut().unwrap().change_members(&members, &[]);
    }

    /// A member's disk gets a base of what was decided instead of the records before.
    fn base(&mut self, of: u64) {
        let machine = self.machine(of);
        let Some(agreement) = &mut machine.agreement else { return };
        // Only a driver that has taken all decisions, and whose disk has all writes, begins a base here.
        if !machine.pending.is_empty() || machine.state.is_empty() {
            return;
        }
        let state: Vec<u8> =
            machine.state.iter().flat_map(|(at, number)| [*at, *number]).flat_map(u64::to_le_bytes).collect();
        if let Some(records) = agreement.begin_base(Arc::from(state)) {
            machine.durable = records;
            agreement.base_is_durable();
        }
    }

    fn poll(&mut self, of: u64) -> Verdict {
        let now_us = self.now_us;
        let early = self.faults.planted == Planted::EarlyForce;
        let machine = self.machine(of);
        let Some(agreement) = &mut machine.agreement else { return Ok(()) };
        let mut out = Output::default();
        agreement.poll(Duration::from_micros((now_us - machine.born_us) * machine.rate / 1_000), &mut out);
        if let Some(why) = agreement.failed() {
            return Err(format!("member {of} has stopped: {why}"));
        }
        let leadership = agreement.leadership();
        if early && let Some(last) = out.writes.last() {
            agreement.forced(last.number);
        }
        let (life, disk_us) = (machine.life, machine.disk_us);
        if leadership.is_ready {
            self.elections.insert(leadership.term);
        }
        if let Some(upto) = out.writes.last().map(|last| last.number) {
            let writes = out.writes.into_iter().map(|it| (it.number, it.record));
            self.machine(of).pending.extend(writes);
            let after_us = self.rng.random_range(disk_us / 2..disk_us * 2);
            self.at(after_us, Event::Forced { of, life, upto });
        }
        for (to, bytes) in out.messages {
            let (from, to) = self.counted(of, to);
            let is_lost = self.cut.contains(&(of, to)) || !self.healed && self.rng.random_bool(0.01);
            if !is_lost {
                let after_us = self.rng.random_range(50..400);
                self.at(after_us, Event::Message { from, to, bytes });
            }
        }
        out.decided.into_iter().try_for_each(|decided| self.note(of, decided))
    }

    /// As whose message one counts, and who gets it: with [`Planted::CountingRemoved`], a removed member gets a part of
    /// those for a present one, and its own count as that one's.
    fn counted(&mut self, from: u64, to: u64) -> (u64, u64) {
        let removed = (0..MACHINES).find(|of| !self.members.contains(of));
        let (Some(removed), Some(&present), Planted::CountingRemoved) =
            (removed, self.members.last(), self.faults.planted)
        else {
            return (from, to);
        };
        let replaces = to == present && from != removed && self.rng.random_bool(0.5);
        (if from == removed { present } else { from }, if replaces { removed } else { to })
    }

    fn note(&mut self, of: u64, decided: Decided) -> Verdict {
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        let now_us = self.now_us;
        match decided {
            Decided::Data(at, data) => {
                let number = number(&data);
                _ = writeln!(self.trace, "{now_us} {of} {at} {number}");
                let agreed = *self.agreed.entry(at).or_insert(number);
                if agreed != number {
                    return Err(format!("place {at}: member {of} has {number}, another had {agreed}"));
                }
                let machine = self.machine(of);
                if machine.state.last_key_value().is_some_and(|(last, _)| *last >= at) {
                    return Err(format!("member {of} decides place {at} after {:?}", machine.state.last_key_value()));
                }
                machine.state.insert(at, number);
                machine.decided += 1;
            }
            Decided::State(bytes) => {
                let words: Vec<u64> = bytes.chunks(8).map(number).collect();
                let state: BTreeMap<_, _> = words.chunks(2).map(|pair| (pair[0], pair[1])).collect();
                _ = writeln!(self.trace, "{now_us} {of} state {}", state.len());
                self.machine(of).state = state;
            }
        }
        // Whatever any member has decided before this place is decided here too.
        let machine = &self.machines[of as usize];
        let last = machine.state.last_key_value().map_or(0, |(last, _)| *last);
        let (here, all) = (machine.state.len(), self.agreed.range(..=last).count());
        if here != all {
            return Err(format!("member {of} has decided {here} of {all} up to place {last}"));
        }
        Ok(())
    }

    /// Ends all faults, and waits until the members have decided everything.
    pub fn end(&mut self) -> Verdict {
        self.healed = true;
        self.cut.clear();
        for machine in &mut self.machines {
            machine.disk_us = 300;
        }
        for of in 0..MACHINES {
            if self.machine(of).agreement.is_none() {
                self.start(of);
            }
        }
        let until_us = self.now_us + 2_000_000;
        self.events.retain(|_, event| !matches!(event, Event::Propose));
        self.run(until_us)?;
        let last = *self.agreed.keys().next_back().ok_or("nothing was decided")?;
        let leader = self.leader().ok_or("there is no leader")?;
        let members = self.machine(leader).agreement.as_ref().unwrap().members();
        for of in members {
            let state = &self.machine(of).state;
            let known = state.last_key_value().map_or(0, |(last, _)| *last);
            if known + 50 < last {
                return Err(format!("member {of} has decided up to place {known} of {last}"));
            }
        }
        Ok(())
    }
}
