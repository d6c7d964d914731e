//! Sessions: what a thread needs for a transaction, handed to the threads that run one.
//!
//! Problem: a transaction needs buffers, a journal and a place among those who hold locks. Making them for each costs
//! more than the transaction; giving each thread its own bounds the threads, whose number is unknown. So there is a
//! fixed number of sessions, each behind a lock of its own. A thread tries the one it had last time first: then taking
//! it is one exchange of a word that no other thread uses, and its memory is warm. If that one is taken it tries the
//! others, and if all are, it waits.
//!
//! *No thread sleeps while a session is free.* A thread that finds none counts itself as waiting, then tries all again,
//! then sleeps, all under one mutex; a thread that returns a session unlocks it, then checks for waiters, and if there
//! are any wakes one under the same mutex. With a fence between the two on both sides, either the first sees the
//! session free or the second sees the waiter.

use std::cell::{Cell, RefCell, RefMut};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};

use crate::error::Error;

#[cfg(test)]
mod tests;

/// Hands out sessions.
pub(crate) trait Sessions {
    /// The pooled value.
    type Session;
    /// The right to use one, until it is dropped.
    type Taken<'a>: DerefMut<Target = Self::Session>
    where
        Self: 'a;

    /// Takes a session; waits while all are taken.
    ///
    /// # Errors
    /// When a thread has panicked within a transaction.
    fn take(&self) -> Result<Self::Taken<'_>, Error>;

    /// Whether this session is free at this moment.
    fn is_free(&self, at: usize) -> bool;

    /// Runs `work` on all sessions at once: when no transaction runs.
    ///
    /// # Errors
    /// When a thread has panicked within a transaction.
    fn quietly<O>(&self, work: impl FnOnce(&mut dyn Iterator<Item = &mut Self::Session>) -> O) -> Result<O, Error>;
}

/// The working form: so many sessions for all threads.
pub(crate) struct SessionPool<S> {
    sessions: Box<[SessionSlot<S>]>,
    waiting: AtomicUsize,
    gate: Mutex<()>,
    given_back: Condvar,
}

#[repr(align(128))]
struct SessionSlot<S>(Mutex<S>);

/// A session taken from a [`SessionPool`].
pub(crate) struct Taken<'a, S> {
    /// There until it is dropped.
    guard: Option<MutexGuard<'a, S>>,
    pool: &'a SessionPool<S>,
}

thread_local! {
    /// Which session this thread tries first, of whatever pool.
    static LAST: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Where the next new thread begins to look.
static NEW: AtomicUsize = AtomicUsize::new(0);

impl<S> SessionPool<S> {
    /// A pool of these, at least one.
    pub(crate) fn new(sessions: impl IntoIterator<Item = S>) -> Self {
        let sessions: Box<[_]> = sessions.into_iter().map(|session| SessionSlot(Mutex::new(session))).collect();
        assert!(!sessions.is_empty(), "a pool needs a session");
        Self { sessions, waiting: AtomicUsize::new(0), gate: Mutex::default(), given_back: Condvar::new() }
    }

    #[inline]
    fn try_at(&self, at: usize) -> Result<Option<Taken<'_, S>>, Error> {
        match self.sessions[at].0.try_lock() {
            Ok(guard) => Ok(Some(Taken { guard: Some(guard), pool: self })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Poisoned(_)) => Err(panicked()),
        }
    }

    fn try_all(&self) -> Result<Option<Taken<'_, S>>, Error> {
        let first = LAST.get();
        let first = if first == usize::MAX { NEW.fetch_add(1, Ordering::Relaxed) } else { first };
        for distance in 0..self.sessions.len() {
            let at = (first + distance) % self.sessions.len();
            if let Some(taken) = self.try_at(at)? {
                LAST.set(at);
                return Ok(Some(taken));
            }
        }
        Ok(None)
    }

    #[cold]
    fn wait(&self) -> Result<Taken<'_, S>, Error> {
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let taken = loop {
            match self.try_all() {
                Ok(None) => gate = self.given_back.wait(gate).unwrap_or_else(PoisonError::into_inner),
                Ok(Some(taken)) => break Ok(taken),
                Err(error) => break Err(error),
            }
        };
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        taken
    }
}

impl<S> Sessions for SessionPool<S> {
    type Session = S;
    type Taken<'a>
        = Taken<'a, S>
    where
        S: 'a;

    #[inline]
    fn take(&self) -> Result<Taken<'_, S>, Error> {
        let last = LAST.get();
        if last < self.sessions.len()
            && let Some(taken) = self.try_at(last)?
        {
            return Ok(taken);
        }
        match self.try_all()? {
            Some(taken) => Ok(taken),
            None => self.wait(),
        }
    }

    fn is_free(&self, at: usize) -> bool {
        // A session that is tried is given back as any other, so that a thread which finds it taken does not miss it.
        !matches!(self.try_at(at), Ok(None))
    }

    fn quietly<O>(&self, work: impl FnOnce(&mut dyn Iterator<Item = &mut S>) -> O) -> Result<O, Error> {
        let mut held = Vec::with_capacity(self.sessions.len());
        // In their order, so that two who do this do not wait for each other.
        for session in &self.sessions {
            held.push(Taken { guard: Some(session.0.lock().map_err(|_| panicked())?), pool: self });
        }
        Ok(work(&mut held.iter_mut().map(|taken| &mut **taken)))
    }
}

fn panicked() -> Error {
    Error::Stopped { reason: "a thread panicked within a transaction; open the database again".into() }
}

impl<S> Deref for Taken<'_, S> {
    type Target = S;
    #[inline(always)]
    fn deref(&self) -> &S {
        self.guard.as_ref().expect("a session until it is dropped")
    }
}

impl<S> DerefMut for Taken<'_, S> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut S {
        self.guard.as_mut().expect("a session until it is dropped")
    }
}

impl<S> Drop for Taken<'_, S> {
    #[inline]
    fn drop(&mut self) {
        self.guard = None;
        fence(Ordering::SeqCst);
        if self.pool.waiting.load(Ordering::SeqCst) > 0 {
            // All, after a panic: whichever is woken must tell its caller, and the others theirs.
            let _gate = self.pool.gate.lock().unwrap_or_else(PoisonError::into_inner);
            if std::thread::panicking() { self.pool.given_back.notify_all() } else { self.pool.given_back.notify_one() }
        }
    }
}

/// The stripped form: one session, for one thread, which the compiler sees to.
pub(crate) struct OneSession<S>(RefCell<S>);

impl<S> OneSession<S> {
    pub(crate) fn new(session: S) -> Self {
        Self(RefCell::new(session))
    }
}

impl<S> Sessions for OneSession<S> {
    type Session = S;
    type Taken<'a>
        = RefMut<'a, S>
    where
        S: 'a;

    #[inline(always)]
    fn take(&self) -> Result<RefMut<'_, S>, Error> {
        // Not an error that waiting would cure: no other thread could return it.
        Ok(self.0.borrow_mut())
    }

    fn is_free(&self, _at: usize) -> bool {
        self.0.try_borrow_mut().is_ok()
    }

    fn quietly<O>(&self, work: impl FnOnce(&mut dyn Iterator<Item = &mut S>) -> O) -> Result<O, Error> {
        Ok(work(&mut std::iter::once(&mut *self.0.borrow_mut())))
    }
}
