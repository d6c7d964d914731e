//! Texts made of parts.

use super::text::Text;

impl<const N: usize> Text<N> {
    /// A text that is known when the program is compiled.
    ///
    /// # Panics
    /// When it has more than `N` bytes or holds a zero byte; in a constant, the program is then refused.
    pub const fn literal(text: &str) -> Self {
        let (text, mut bytes, mut at) = (text.as_bytes(), [0; N], 0);
        assert!(text.len() <= N, "the text is longer than its column");
        while at < text.len() {
            assert!(text[at] != 0, "a text may not hold a zero byte");
            bytes[at] = text[at];
            at += 1;
        }
        Self(bytes)
    }

    /// Appends as many whole characters of `part` as fit.
    #[inline]
    pub fn push<const M: usize>(&mut self, part: &Text<M>) {
        let length = self.len();
        match self.0.get_mut(length..length + M) {
            // With the zeros after it, so that its length is not needed.
            Some(room) => room.copy_from_slice(&part.0),
            None => *self = Self::joined(&[self.as_str(), part.as_str()]),
        }
    }

    /// Keeps as many whole characters as fit, up to the first zero byte.
    #[inline]
    pub fn truncated(text: &str) -> Self {
        Self::joined(&[text])
    }

    /// Keeps as many whole characters of the parts, one after the other, as fit, up to the first zero byte.
    #[inline]
    pub fn joined(parts: &[&str]) -> Self {
        let (mut bytes, mut length) = ([0xff; N], 0);
        for part in parts {
            let fits = part.len() <= N - length;
            let kept = if fits { part } else { &part[..part.floor_char_boundary(N - length)] };
            bytes[length..length + kept.len()].copy_from_slice(kept.as_bytes());
            length += kept.len();
            if !fits {
                break;
            }
        }
        // After the text there is no zero yet. So all bytes can be compared, which the compiler does many at a time.
        if bytes.iter().fold(false, |found, &byte| found | (byte == 0)) {
            length = bytes.iter().position(|&byte| byte == 0).unwrap_or(length);
        }
        bytes[length..].fill(0);
        Self(bytes)
    }
}
