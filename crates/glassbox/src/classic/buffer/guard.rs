//! Guards of fixed pages.

use std::mem;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use super::frame::Frame;
use crate::classic::ids::PageId;
use crate::classic::latch::Latch;
use crate::classic::page;
use crate::classic::page::pages::{ExclusivePage, FixedPage};
use crate::log::Lsn;

/// A page of the pool that may be read.
pub(crate) struct SharedFrame<'a, L: Latch> {
    frame: &'a Frame<L>,
    bytes: NonNull<[u8]>,
}

/// A page of the pool that may be changed.
pub(crate) struct ExclusiveFrame<'a, L: Latch> {
    frame: &'a Frame<L>,
    bytes: NonNull<[u8]>,
}

impl<'a, L: Latch> SharedFrame<'a, L> {
    /// The frame.
    #[inline(always)]
    pub(super) fn frame(&self) -> &'a Frame<L> {
        self.frame
    }

    /// # Safety
    /// The caller has fixed `frame` shared and transfers this fix, and `bytes` is the frame's memory, initialised and
    /// valid for `'a`.
    #[inline(always)]
    pub(super) unsafe fn new(frame: &'a Frame<L>, bytes: NonNull<[u8]>) -> Self {
        Self { frame, bytes }
    }
}

impl<'a, L: Latch> ExclusiveFrame<'a, L> {
    /// # Safety
    /// As for [`SharedFrame::new`], with an exclusive fix.
    #[inline(always)]
    pub(super) unsafe fn new(frame: &'a Frame<L>, bytes: NonNull<[u8]>) -> Self {
        Self { frame, bytes }
    }

    /// Downgrades to a shared fix.
    pub(super) fn downgrade(self) -> SharedFrame<'a, L> {
        let (frame, bytes) = (self.frame, self.bytes);
        mem::forget(self);
        frame.downgrade();
        SharedFrame { frame, bytes }
    }
}

impl<L: Latch> Deref for SharedFrame<'_, L> {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        // SAFETY: fixed to read until this is dropped: the frame keeps its page, and no thread can fix it to change.
        unsafe { self.bytes.as_ref() }
    }
}

impl<L: Latch> Deref for ExclusiveFrame<'_, L> {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        // SAFETY: fixed to change until this is dropped: the frame keeps its page, and no other thread can fix it.
        unsafe { self.bytes.as_ref() }
    }
}

impl<L: Latch> DerefMut for ExclusiveFrame<'_, L> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and a mutable borrow is the only one.
        unsafe { self.bytes.as_mut() }
    }
}

impl<L: Latch> FixedPage for SharedFrame<'_, L> {
    #[inline(always)]
    fn is_sound(&self) -> Option<bool> {
        Some(self.frame.is_sound())
    }

    fn note_sound(&self, is_sound: bool) {
        self.frame.note_sound(is_sound);
    }
}

impl<L: Latch> FixedPage for ExclusiveFrame<'_, L> {
    #[inline(always)]
    fn is_sound(&self) -> Option<bool> {
        Some(self.frame.is_sound())
    }

    fn note_sound(&self, is_sound: bool) {
        self.frame.note_sound(is_sound);
    }
}

impl<L: Latch> ExclusivePage for ExclusiveFrame<'_, L> {
    #[inline(always)]
    fn id(&self) -> PageId {
        self.frame.page()
    }

    #[inline(always)]
    fn changed(&mut self, from: Lsn, lsn: Lsn) {
        self.frame.note_change(from);
        page::set_lsn(self, lsn);
    }
}

impl<L: Latch> Drop for SharedFrame<'_, L> {
    #[inline(always)]
    fn drop(&mut self) {
        self.frame.unfix_shared();
    }
}

impl<L: Latch> Drop for ExclusiveFrame<'_, L> {
    #[inline(always)]
    fn drop(&mut self) {
        self.frame.unfix_exclusive();
    }
}
