//! Lock modes, their compatibility, and their conversions.
//!
//! The tables are those of Gray and Reuter 1993 (§7.8.3 and figure 8.6), where U and S are compatible one way only: U
//! is granted while S is held, but S is not granted while U is held, so that the later conversion from U to X does not
//! starve. Two entries differ, both with U, so that a stronger mode is never compatible with more modes than a weaker
//! one:
//!
//! - U is granted while IS is held, as with S; the book refuses it. There, a request for U that waits because of an IS
//!   could be granted when that becomes S; but a granted conversion must never make another request grantable, as none
//!   is checked then.
//! - U and SIX combine to X; the book has SIX. There, the result of several requests depends on their order (IX and U
//!   combine to X, which is stronger than SIX).

/// A lock mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[allow(clippy::upper_case_acronyms, reason = "they have been called so since 1975")]
pub(crate) enum LockMode {
    /// Intends to read some of what is below.
    IS = 0,
    /// Intends to write some of what is below.
    IX = 1,
    /// Reads all of it.
    S = 2,
    /// Reads all of it, and intends to write some.
    SIX = 3,
    /// Reads all of it now and will perhaps write it.
    U = 4,
    /// Writes it.
    X = 5,
}

use LockMode::{IS, IX, S, SIX, U, X};

/// A set of modes, a bit for each.
pub(super) type Modes = u8;

/// For each requested mode, the incompatible granted modes.
const CONFLICTS: [Modes; 6] = [
    U.bit() | X.bit(),
    S.bit() | SIX.bit() | U.bit() | X.bit(),
    IX.bit() | SIX.bit() | U.bit() | X.bit(),
    IX.bit() | S.bit() | SIX.bit() | U.bit() | X.bit(),
    IX.bit() | SIX.bit() | U.bit() | X.bit(),
    IS.bit() | IX.bit() | S.bit() | SIX.bit() | U.bit() | X.bit(),
];

const SUPREMUM: [[LockMode; 6]; 6] = [
    [IS, IX, S, SIX, U, X],
    [IX, IX, SIX, SIX, X, X],
    [S, SIX, S, SIX, U, X],
    [SIX, SIX, SIX, SIX, X, X],
    [U, X, U, X, U, X],
    [X, X, X, X, X, X],
];

/// The effect of a lock on the levels below it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FromAbove {
    /// Nothing.
    Nothing,
    /// It is a sufficient intent.
    Intent,
    /// It covers the request.
    Covers,
}

const FROM_ABOVE: [[FromAbove; 6]; 6] = {
    const MODES: [LockMode; 6] = [IS, IX, S, SIX, U, X];
    let mut all = [[FromAbove::Nothing; 6]; 6];
    let mut at = 0;
    while at < 36 {
        let (held, wanted) = (MODES[at / 6], MODES[at % 6]);
        if held.covers_below(wanted) {
            all[at / 6][at % 6] = FromAbove::Covers;
        } else if held.covers(wanted.intent()) {
            all[at / 6][at % 6] = FromAbove::Intent;
        }
        at += 1;
    }
    all
};

impl LockMode {
    /// All modes, in the order of their numbers.
    #[cfg(test)]
    pub(crate) const ALL: [LockMode; 6] = [IS, IX, S, SIX, U, X];

    /// The set of this mode alone.
    #[inline(always)]
    pub(super) const fn bit(self) -> Modes {
        1 << self as u8
    }

    /// The granted modes with which this one is incompatible.
    #[inline(always)]
    pub(super) const fn conflicts(self) -> Modes {
        CONFLICTS[self as usize]
    }

    /// The weakest mode that allows what either allows.
    #[inline(always)]
    pub(crate) const fn supremum(self, other: LockMode) -> LockMode {
        SUPREMUM[self as usize][other as usize]
    }

    /// Whether the holder of this mode needs no request for `other`.
    #[inline(always)]
    pub(crate) const fn covers(self, other: LockMode) -> bool {
        self.supremum(other) as u8 == self as u8
    }

    /// Whether the holder of this mode needs no request for `other` on any level below.
    #[inline(always)]
    pub(crate) const fn covers_below(self, other: LockMode) -> bool {
        match self {
            X => true,
            S | SIX | U => matches!(other, IS | S),
            IS | IX => false,
        }
    }

    /// The effect of this mode, held above, on a request for `other` below.
    #[inline(always)]
    pub(super) const fn seen_from(self, other: LockMode) -> FromAbove {
        FROM_ABOVE[self as usize][other as usize]
    }

    /// The intent that must be held on all levels above before this mode is requested.
    #[inline(always)]
    pub(crate) const fn intent(self) -> LockMode {
        match self {
            IS | S => IS,
            IX | SIX | U | X => IX,
        }
    }
}
