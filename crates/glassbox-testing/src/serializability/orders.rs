//! The order of the versions of each item: Adya's `<<`, without which there is no conflict to speak of.
//!
//! Adya (*Weak Consistency*, 1999, §4.1.2) lets a system choose the order of an object's committed versions, and an
//! observer must be told it. Here the data tells. An element of a list is version *n* if it is the *n*-th, and both who
//! appends and who reads the list see where it stands (Kingsbury and Alvaro, *Elle*, 2020, call that traceable). A
//! member's row counts its changes, in the row, by the transaction that makes them. Keys are never used again, so an
//! item begins with one version that was there before the history (of a member: present, or unborn), and a member that
//! has left has a last version that no transaction can read (dead). So the order is exact, with nothing guessed, and
//! two transactions that claim one version have lost an update.

use std::collections::HashMap;

use super::facts::{Fact, Item, facts};
use super::history::{History, Value};

/// One committed version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// Its place in the order; 0: it was there before.
    pub number: u32,
    /// Names its writer.
    pub value: Value,
    /// The state of a member: its rank, or `None` if it is unborn or dead.
    pub rank: Option<u8>,
}

/// Two committed transactions that wrote the same version.
#[derive(Debug, Clone, Copy)]
pub struct Double {
    /// Of this item.
    pub item: Item,
    /// Which version.
    pub version: u32,
    /// What the one wrote.
    pub first: Value,
    /// What the other wrote.
    pub second: Value,
}

/// The committed versions of all items.
#[derive(Debug, Default)]
pub struct Orders {
    /// The items, in the order in which the history names them.
    pub items: Vec<Item>,
    /// What cannot be, because each version has one writer.
    pub doubles: Vec<Double>,
    places: HashMap<Item, u32>,
    versions: Vec<Vec<Version>>,
    clubs: HashMap<u32, Vec<u32>>,
}

impl Orders {
    /// Finds them by the word of the writers.
    pub fn of(history: &History) -> Self {
        let mut orders = Self::default();
        for (&member, &rank) in &history.initial {
            let place = orders.enter(Item::Member(member));
            orders.versions[place][0].rank = Some(rank);
        }
        for (_, transaction) in history.committed() {
            for (_, fact) in facts(transaction) {
                if let Fact::Wrote { item, version: number, value, rank, .. } = fact {
                    let place = orders.enter(item);
                    orders.versions[place].push(Version { number, value, rank });
                }
            }
        }
        orders.sort();
        orders
    }

    fn enter(&mut self, item: Item) -> usize {
        let new = self.items.len() as u32;
        let place = *self.places.entry(item).or_insert(new);
        if place == new {
            self.items.push(item);
            self.versions.push(vec![Version { number: 0, value: Value::INITIAL, rank: None }]);
            if let Item::Member(member) = item {
                self.clubs.entry(member.club).or_default().push(place);
            }
        }
        place as usize
    }

    fn sort(&mut self) {
        for (&item, versions) in self.items.iter().zip(&mut self.versions) {
            versions.sort_by_key(|version| version.number);
            versions.dedup_by(|second, first| {
                let double = second.number == first.number;
                if double {
                    let version = first.number;
                    self.doubles.push(Double { item, version, first: first.value, second: second.value });
                }
                double
            });
        }
    }

    /// The place of an item that was written or there before.
    pub fn place(&self, item: Item) -> Option<u32> {
        self.places.get(&item).copied()
    }

    /// The versions of the item at a place, in their order, from the initial one on. Some may be missing: what no
    /// committed transaction wrote.
    pub fn versions(&self, place: u32) -> &[Version] {
        &self.versions[place as usize]
    }

    /// The places of all members of a club that ever were.
    pub fn members(&self, club: u32) -> &[u32] {
        self.clubs.get(&club).map_or(&[], Vec::as_slice)
    }

    /// The version of this number, and the one after it.
    pub fn at(&self, place: u32, number: u32) -> (Option<Version>, Option<Version>) {
        let versions = self.versions(place);
        let after = versions.partition_point(|version| version.number <= number);
        let this = after.checked_sub(1).map(|at| versions[at]).filter(|version| version.number == number);
        (this, versions.get(after).copied())
    }
}
