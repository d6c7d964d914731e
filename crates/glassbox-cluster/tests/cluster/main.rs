//! Members of a cluster through the crate's interface: their messages, in threads, over sockets and as processes.

mod dependent;
mod diverging;
mod failures;
mod gates;
mod leaving;
mod order;
mod overlap;
mod peers;
mod processes;
mod refused_calls;
mod replay;
mod resuming;
mod run;
mod sorted;
mod tpcc;
mod wire;
