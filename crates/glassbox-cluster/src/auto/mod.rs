//! Which scheme suits the load: seen, put into the model, chosen.
//!
//! - [`Seen`] and [`Tally`]: what primaries count, and how long whoever drives the machines found their work to take;
//! - [`Statistics`] and [`Times`]: the same for a stretch of time, as the model needs it;
//! - [`predict`]: the model of *Low Overhead Concurrency Control*, section 6, and what it leaves out, term by term;
//! - [`Advisor`]: compares the predictions, learns how far they are off, and proposes another scheme when it pays.
//!
//! Nothing here decides: who owns the configuration makes what is proposed
//! [the next one](crate::Configuration::with_scheme).

mod advice;
mod advisor;
mod model;
mod sampler;
mod seen;
mod statistics;
mod tally;
mod times;

pub use advice::Advice;
pub use advisor::{Advisor, CANDIDATES};
pub use model::{Limit, Prediction, Term, predict};
pub(crate) use sampler::{Sampler, Sampling};
pub use seen::Seen;
pub use statistics::{Counted, Statistics, Surroundings};
pub use tally::Tally;
pub use times::Times;
