//! The program of clusters as its users run it: arguments, output, exit status, signals.

mod agreeing;
mod cluster;
mod common;
mod disks;
mod help;
mod hosts;
mod memory;
