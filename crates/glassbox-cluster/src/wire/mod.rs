//! What goes over a connection: frames (`frame`), what is in them (`body`), and who may say what (`allowed`).
//!
//! All of it is pure functions of bytes: sockets are somewhere else. Drawn byte by byte in `docs/formats/wire.md`.

mod body;
mod frame;
pub mod fuzzing;
mod permissions;

pub use body::{Answer, Counts, Heard, Hello, Question, Standing, Welcome};
pub use frame::{
    BadFrame, Expected, Frame, HEADER_BYTES, Kind, LARGEST_HELLO, LARGEST_PAYLOAD, VERSION, decode, encode,
};
pub use permissions::allowed;
