//! Histories of clusters of threads, over queues and over sockets, are strictly serializable, also when members fail.

mod clusters;
mod failing;
mod links;
#[path = "../common/planted.rs"]
mod planted;
