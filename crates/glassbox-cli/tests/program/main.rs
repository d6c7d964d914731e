//! The program as its users run it: arguments, output, exit status, signals.

mod classic;
mod common;
mod files;
mod help;
mod others;
mod pages;
mod things;
mod torture;
mod tpcc;
mod types;
mod usage;
