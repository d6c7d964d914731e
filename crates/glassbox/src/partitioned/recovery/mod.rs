//! Recovery: a checkpoint is loaded, and the log after it is replayed.

pub(crate) mod replay;
pub(crate) mod replay_error;
pub(crate) mod whole;
