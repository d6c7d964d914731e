//! Data that the parties of a cluster exchange and store: addresses, configurations, messages, stream entries.
//!
//! This module stands below every state machine and has no behaviour of its own.

pub(crate) mod address;
pub(crate) mod configuration;
pub(crate) mod entry;
pub(crate) mod input;
pub(crate) mod message;
pub(crate) mod outbox;
