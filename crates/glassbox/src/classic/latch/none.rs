//! No latch, for a stack that runs on one thread.

use std::cell::Cell;
use std::marker::PhantomData;

use super::Latch;

/// Excludes no thread and costs nothing. It is not [`Sync`], and so nothing that contains it is: a structure with such
/// latches cannot be shared between threads.
#[derive(Default)]
pub(crate) struct NoLatch(PhantomData<Cell<()>>);

impl Latch for NoLatch {
    const CONCURRENT: bool = false;

    #[inline(always)]
    fn shared(&self) -> bool {
        false
    }

    #[inline(always)]
    fn try_shared(&self) -> bool {
        true
    }

    #[inline(always)]
    fn exclusive(&self) -> bool {
        false
    }

    #[inline(always)]
    fn try_exclusive(&self) -> bool {
        true
    }

    #[inline(always)]
    fn release_shared(&self) {}

    #[inline(always)]
    fn release_exclusive(&self) {}

    #[inline(always)]
    fn downgrade(&self) {}

    fn is_free(&self) -> bool {
        true
    }
}
