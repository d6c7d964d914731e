//! Which scheme suits the load: counters, a model, a choice.
//!
//! - [`Counters`] and [`Tally`]: the primaries' workload counters, and the durations of work as the drivers measured
//!   them;
//! - [`Statistics`] and [`Times`]: the same for an interval, as the model needs it;
//! - [`predict`]: the model of *Low Overhead Concurrency Control*, section 6, and what it leaves out, term by term;
//! - [`Advisor`]: compares the predictions, learns their errors, and proposes another scheme when it pays.
//!
//! Nothing here decides: the operator makes a proposal [the next configuration](crate::Configuration::with_scheme).

mod advice;
mod advisor;
mod model;
mod sampler;
mod statistics;
mod tally;
mod times;

pub use advice::Advice;
pub use advisor::{Advisor, CANDIDATES};
pub use model::{Limit, Prediction, Term, predict};
pub(crate) use sampler::{Sampler, Sampling};
pub use statistics::{Counted, Counters, Statistics, Surroundings};
pub use tally::Tally;
pub use times::Times;
