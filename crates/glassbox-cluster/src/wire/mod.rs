//! The wire format: frames (`frame`), their contents besides messages (`body`), and which party may send what
//! (`permissions`).
//!
//! All of it is pure functions of bytes, without sockets. Drawn byte by byte in `docs/formats/wire.md`.

mod body;
mod frame;
pub mod fuzzing;
mod permissions;

pub use body::{Answer, Counts, Hello, Question, Received, Standing, Welcome};
pub use frame::{
    BadFrame, Expected, Frame, HEADER_BYTES, Kind, MAX_CATALOG_BYTES, MAX_HELLO_BYTES, MAX_PAYLOAD_BYTES, VERSION,
    decode, encode,
};
pub use permissions::allowed;
