//! The program as its users run it: arguments, output, exit status, signals.

mod charm;
mod classic;
mod cluster;
mod common;
mod disks;
mod explain;
mod files;
mod hosts;
mod lab;
mod looking_glass;
mod low_overhead;
mod pages;
mod papers;
mod scaling;
mod things;
mod torture;
mod tpcc;
mod usage;
