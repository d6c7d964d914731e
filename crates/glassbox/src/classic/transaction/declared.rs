//! The fetch stage by declaration: what the keys that a procedure declares need, without running it.
//!
//! A declaration names the same keys each time. So it runs once for each level of the trees: each key goes as far as
//! pages are in memory, what is missing then is read in one batch, and keys that came to their row are passed over. If
//! all is in memory, it runs once. Of ranges only the ends are fetched: how much a run will read of them, it alone
//! finds out.

use std::ops::Range;

use smallvec::SmallVec;

use super::FetchStage;
use super::fetch::MissingPages;
use crate::classic::engine::{IndexStore, TableStores};
use crate::classic::stack::Stack;
use crate::procedure::{Declared, KeySet, Mode};
use crate::record::{Bounds, EncodedKey, Index, Key, Record};

/// Passes over a declaration, more than a tree has levels.
const PASSES: usize = 16;

/// Fetches what is declared into it.
pub(in crate::classic) struct DeclaredFetch<'t, 'e, S: Stack> {
    stage: FetchStage<'t, 'e, S>,
    /// Of the keys, in their order: whether it needs no page any more.
    done: SmallVec<[bool; 64]>,
    /// The next key.
    at: usize,
    missing: MissingPages,
    /// Whether only keys are declared, and ranges into which rows are inserted.
    is_exact: bool,
}

/// The part of a run's pages that was fetched by declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::classic) enum DeclaredPart {
    /// All that the run needs, according to the declaration.
    All,
    /// There may be more.
    Some,
    /// More pages than the transaction may pin: those that are not pinned may have left again.
    TooMuch,
}

impl DeclaredPart {
    /// The same, if declarations of the procedure are trusted.
    pub(in crate::classic) fn trusted(self, is_trusted: bool) -> Self {
        if self == Self::All && !is_trusted { Self::Some } else { self }
    }
}

impl<S: Stack> FetchStage<'_, '_, S> {
    /// Fetches what is declared.
    pub(in crate::classic) fn declared(
        self,
        declare: &impl Fn(&mut DeclaredFetch<'_, '_, S>) -> Declared,
    ) -> DeclaredPart {
        let (done, missing) = (SmallVec::new(), MissingPages::new());
        let mut set = DeclaredFetch { stage: self, done, at: 0, missing, is_exact: true };
        for _ in 0..PASSES {
            set.at = 0;
            let declared = declare(&mut set);
            if set.missing.is_empty() {
                let is_all = declared == Declared::Complete && set.is_exact && !set.done.is_empty();
                return if is_all { DeclaredPart::All } else { DeclaredPart::Some };
            }
            let brought = set.stage.bring(&mut set.missing);
            if set.stage.0.session.pins.is_refused() {
                return DeclaredPart::TooMuch;
            }
            if !brought {
                break;
            }
        }
        DeclaredPart::Some
    }
}

impl<'e, S: Stack> DeclaredFetch<'_, 'e, S> {
    /// Whether the next key was fetched in an earlier pass.
    #[inline(always)]
    fn passes_over(&mut self) -> bool {
        let at = self.at;
        self.at += 1;
        if at == self.done.len() {
            let is_too_many = self.stage.begin().is_err();
            self.is_exact &= !is_too_many;
            self.done.push(is_too_many);
        }
        self.done[at]
    }

    /// Fetches the leaf of a key.
    fn leaf(&mut self, index: &IndexStore<S>, key: impl EncodedKey) {
        if !self.passes_over() {
            let found = self.stage.try_key(index, key, false, &mut self.missing);
            self.done[self.at - 1] = found.is_some();
        }
    }

    /// Fetches the leaves of both ends of a range; and the page for a row that is added there.
    fn ends<K: Key, E: EncodedKey>(
        &mut self,
        (table, index): (&TableStores<S>, &IndexStore<S>),
        bounds: &impl Bounds<K>,
        mode: Mode,
    ) {
        self.is_exact &= mode == Mode::Insert;
        if mode == Mode::Insert && !self.passes_over() {
            self.done[self.at - 1] = self.stage.try_insertion(table, &mut self.missing);
        }
        if let Some(range) = bounds.encode::<E>() {
            self.leaf(index, range.low);
            self.leaf(index, range.high);
        }
    }

    fn table<R: Record>(&self) -> &'e TableStores<S> {
        self.stage.0.table_of::<R>()
    }
}

impl<S: Stack> KeySet for DeclaredFetch<'_, '_, S> {
    #[inline]
    fn part<R: Record>(&mut self, key: &R::Key, mode: Mode, _bytes: Range<usize>) {
        if self.passes_over() {
            return;
        }
        let table = self.table::<R>();
        let has_room = mode != Mode::Insert || self.stage.try_insertion(table, &mut self.missing);
        let found = self.stage.try_key(&table.primary, key.encode::<R::Encoded>(), true, &mut self.missing);
        self.done[self.at - 1] = has_room && found.is_some();
    }

    fn range<R: Record>(&mut self, bounds: impl Bounds<R::Key>, mode: Mode) {
        let table = self.table::<R>();
        self.ends::<R::Key, R::Encoded>((table, &table.primary), &bounds, mode);
    }

    fn index<I: Index>(&mut self, bounds: impl Bounds<I::Key>, mode: Mode) {
        let table = self.table::<I::Record>();
        self.ends::<I::Key, I::Encoded>((table, &table.indexes[I::POSITION]), &bounds, mode);
    }
}
