//! The program as its users run it: arguments, output, exit status, signals.

mod common;
mod files;
mod lab;
mod looking_glass;
mod torture;
mod tpcc;
mod usage;
