//! The fetch stage by declaration: what the keys that a procedure declares need, without running it.
//!
//! A declaration names the same keys each time. So it runs once for each level of the trees: each key goes as far as
//! pages are in memory, what is missing then is read in one batch, and only the keys that met a missing page are looked
//! for again. If all is in memory, it runs once. Of ranges only the ends are fetched: how much a run will read of them,
//! it alone finds out.

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
    /// The next key.
    at: u32,
    is_first_pass: bool,
    /// The keys that met a missing page in the last pass, the next one last.
    left: Positions,
    /// Those of this pass, in their order.
    unfinished: Positions,
    missing: MissingPages,
    /// Whether only keys are declared, and ranges into which rows are inserted.
    is_exact: bool,
}

/// Keys by their positions in a declaration.
type Positions = SmallVec<[u32; 32]>;

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
        let mut set = DeclaredFetch {
            stage: self,
            at: 0,
            is_first_pass: true,
            left: Positions::new(),
            unfinished: Positions::new(),
            missing: MissingPages::new(),
            is_exact: true,
        };
        for _ in 0..PASSES {
            set.at = 0;
            let declared = declare(&mut set);
            if set.unfinished.is_empty() {
                let is_all = declared == Declared::Complete && set.is_exact && set.at > 0;
                return if is_all { DeclaredPart::All } else { DeclaredPart::Some };
            }
            set.begin_next_pass();
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
    /// Fetches the next key's pages, unless an earlier pass has; `fetch` says whether it has come to the end.
    #[inline(always)]
    fn each_once(&mut self, fetch: impl FnOnce(&mut FetchStage<'_, 'e, S>, &mut MissingPages) -> bool) {
        let at = self.at;
        self.at += 1;
        if self.is_first_pass {
            if self.stage.begin().is_err() {
                self.is_exact = false;
                return;
            }
        } else if self.left.last() == Some(&at) {
            self.left.pop();
        } else {
            return;
        }
        if !fetch(&mut self.stage, &mut self.missing) {
            self.unfinished.push(at);
        }
    }

    fn begin_next_pass(&mut self) {
        self.is_first_pass = false;
        self.left = std::mem::take(&mut self.unfinished);
        self.left.reverse();
    }

    /// Fetches the leaves of both ends of a range; and the page for a row that is added there.
    fn ends<K: Key, E: EncodedKey>(
        &mut self,
        (table, index): (&TableStores<S>, &IndexStore<S>),
        bounds: &impl Bounds<K>,
        mode: Mode,
    ) {
        self.is_exact &= mode == Mode::Insert;
        if mode == Mode::Insert {
            self.each_once(|stage, missing| stage.try_insertion(table, missing));
        }
        if let Some(range) = bounds.encode::<E>() {
            self.each_once(|stage, missing| stage.try_ends(index, &range, missing));
        }
    }

    fn table<R: Record>(&self) -> &'e TableStores<S> {
        self.stage.0.table_of::<R>()
    }
}

impl<S: Stack> KeySet for DeclaredFetch<'_, '_, S> {
    #[inline]
    fn part<R: Record>(&mut self, key: &R::Key, mode: Mode, _bytes: Range<usize>) {
        let table = self.table::<R>();
        self.each_once(|stage, missing| {
            let has_room = mode != Mode::Insert || stage.try_insertion(table, missing);
            stage.try_key(&table.primary, key.encode::<R::Encoded>(), true, missing).is_some() && has_room
        });
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
