//! What the clients of a history ask for: random transactions that meet each other often.
//!
//! All clients work on the same few lists and clubs, and move on together: a list that is never left grows without end,
//! and reading it whole would make the checker quadratic. What a client knows of the members of a club is what it has
//! read.

use std::collections::VecDeque;

use super::executor::Submission;
use super::history::{Form, List, Member, Outcome, Predicate, Seen, Step, Value};
use super::rows::first_members;
use crate::dice::Dice;

/// How a history is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistorySettings {
    /// Decides what clients ask for. What they are answered, threads decide.
    pub seed: u64,
    /// Clients, each a thread.
    pub clients: usize,
    /// Transactions of all clients together.
    pub transactions: u32,
    /// Which forms.
    pub forms: Forms,
    /// One in so many transactions aborts; 0: none.
    pub abort_one_in: u64,
}

/// Which objects transactions use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forms {
    /// Lists that are appended to.
    Lists,
    /// Clubs with their predicates.
    Clubs,
    /// Both, often in one transaction.
    Both,
}

/// Lists that are used at a time, of each form; and clubs.
const LISTS: u32 = 3;
const CLUBS: u32 = 3;
/// So many transactions further on, the oldest of them are left for the next.
const LIST_LIFE: u32 = 14;
const CLUB_LIFE: u32 = 20;
/// Members that a client remembers.
const REMEMBERED: usize = 12;
/// Ranks are 0 to 9.
const RANKS: u64 = 10;

impl HistorySettings {
    /// Lists of each form that the whole history uses.
    pub fn lists(&self) -> u32 {
        self.transactions / LIST_LIFE + LISTS
    }

    /// Clubs that the whole history uses.
    pub fn clubs(&self) -> u32 {
        if self.forms == Forms::Lists { 0 } else { self.transactions / CLUB_LIFE + CLUBS }
    }
}

/// One client's source of transactions.
#[derive(Debug)]
pub struct Planner<'a> {
    settings: &'a HistorySettings,
    dice: Dice,
    remembered: VecDeque<Member>,
}

impl<'a> Planner<'a> {
    /// That of one client.
    pub fn new(settings: &'a HistorySettings, client: usize) -> Self {
        let mut dice = Dice(settings.seed ^ (client as u64) << 32);
        dice.roll();
        Self { settings, dice, remembered: VecDeque::new() }
    }

    /// What transaction `number` does.
    pub fn plan(&mut self, number: u32) -> (Submission, Vec<Step>) {
        let way = match self.dice.below(8) {
            0 => Submission::Undeclared,
            1 => Submission::Closure,
            _ => Submission::Declared,
        };
        let of_lists = match self.settings.forms {
            Forms::Lists => 10,
            Forms::Clubs => 0,
            Forms::Both => [0, 10, 5, 5][self.dice.below(4) as usize],
        };
        let mut steps = Vec::new();
        for at in 0..1 + self.dice.below(5) as usize {
            let value = Value::new(number, at);
            let step = if self.dice.below(10) < of_lists { self.list_step(value) } else { self.club_step(value) };
            steps.push(step);
        }
        if self.settings.abort_one_in > 0 && self.dice.one_in(self.settings.abort_one_in) {
            steps.push(Step::Abort);
        }
        (way, steps)
    }

    /// Remembers the members that were seen.
    pub fn learn(&mut self, steps: &[Step], outcome: &Outcome) {
        let Outcome::Committed(seen) = outcome else { return };
        for (step, seen) in steps.iter().zip(seen) {
            match (step, seen) {
                (Step::Join(member, ..), _) => self.remembered.push_back(*member),
                (Step::Scan(predicate), Seen::Rows(rows)) if !rows.is_empty() => {
                    let row = &rows[self.dice.below(rows.len() as u64) as usize];
                    self.remembered.push_back(Member { club: predicate.club(), id: row.id });
                }
                _ => {}
            }
        }
        while self.remembered.len() > REMEMBERED {
            self.remembered.pop_front();
        }
    }

    fn list_step(&mut self, value: Value) -> Step {
        let form = if self.dice.one_in(2) { Form::Rows } else { Form::Packed };
        let list = List { form, number: value.writer() / LIST_LIFE + self.dice.below(LISTS.into()) as u32 };
        if self.dice.one_in(2) { Step::Append(list, value) } else { Step::Read(list) }
    }

    fn club_step(&mut self, value: Value) -> Step {
        let club = value.writer() / CLUB_LIFE + self.dice.below(CLUBS.into()) as u32;
        match self.dice.below(10) {
            // Bits reversed, ids that are close in time are far apart: inserts fall between rows, not behind the last.
            0 | 1 => Step::Join(Member { club, id: value.0.reverse_bits() }, self.dice.below(RANKS) as u8, value),
            2 | 3 => Step::Rank(self.member(club), self.dice.below(RANKS) as u8, value),
            4 => Step::Leave(self.member(club), value),
            5 => Step::Look(self.member(club)),
            6 | 7 => Step::Scan(Predicate::Members { club }),
            _ => {
                let from = self.dice.below(RANKS) as u8;
                Step::Scan(Predicate::Ranks { club, from, to: from + self.dice.below(4) as u8 })
            }
        }
    }

    /// One of the first members, or one that was seen.
    fn member(&mut self, club: u32) -> Member {
        let first: Vec<_> = first_members(club).map(|(member, _)| member).collect();
        let seen: Vec<_> = self.remembered.iter().copied().filter(|member| member.club == club).collect();
        let from = if seen.is_empty() || self.dice.one_in(2) { first } else { seen };
        from[self.dice.below(from.len() as u64) as usize]
    }
}
