//! One statement at a time, as a figure: which pages it fixes and latches, which locks it asks for, what it logs.
//!
//! Problem: that a statement locks the gap beside its key, lets go of a latch before it waits, or logs the taking back
//! of what it did, is seen by no test of results; it shows only when two threads meet or a machine stops. So each kind
//! of statement is run once, alone, and everything that it asks of its components is written down, in the order in
//! which it happens, and compared with a file in `statements/`. The files are meant to be read: each begins with what
//! there is to see.
//!
//! The engine has no hooks for this. A stack is made of types, so here is one more stack ([`world`]) whose pages, locks
//! and log each are the working form in a wrapper that notes what passes through it ([`pages`], [`locks`], [`log`]) in
//! a list of this thread ([`trace`]), in words ([`describe`]). `GLASSBOX_BLESS=1` rewrites the files; read them
//! before you commit them.

mod describe;
mod leaf_locks;
mod locks;
mod log;
mod pages;
mod statements;
mod trace;
mod transactions;
mod world;
