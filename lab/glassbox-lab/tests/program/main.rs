//! The laboratory's program as its users run it: arguments, output, exit status, pages.

mod charm;
mod common;
mod explain;
mod help;
mod limits;
mod looking_glass;
mod low_overhead;
mod papers;
mod scaling;
