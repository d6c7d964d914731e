//! Part of Glassbox.
