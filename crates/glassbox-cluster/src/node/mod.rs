//! A member of a cluster as one state machine: the role that the configuration gives it, and the guard of its messages.

mod agreed;
pub(crate) mod agreed_log;
mod configure;
pub(crate) mod failover;
mod incarnations;
pub(crate) mod journal;
pub(crate) mod member;
mod membership;
pub(crate) mod recovered;
pub(crate) mod role;
