//! The program of clusters as its users run it: arguments, output, exit status, signals.

mod cluster;
mod common;
mod disks;
mod help;
mod hosts;
mod memory;
mod memory;
