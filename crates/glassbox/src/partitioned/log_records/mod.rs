//! The records of the log: changes of rows, and calls of procedures with their arguments.

pub(crate) mod arguments;
pub(crate) mod command;
pub(crate) mod record_buffer;
pub(crate) mod row_change;
pub(crate) mod values;
