//! What a payment notes in front of C_DATA: numbers, written digit by digit, which takes a tenth of `write!`.

/// The note, in the making.
pub(super) struct Note {
    bytes: [u8; 64],
    len: usize,
}

impl Note {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; 64], len: 0 }
    }

    #[inline]
    pub(super) fn byte(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    /// In decimal, of `least` digits or more.
    #[inline]
    pub(super) fn number(&mut self, mut number: u64, least: usize) {
        let (mut digits, mut first) = ([b'0'; 20], 20);
        while number > 0 || first > 20 - least {
            first -= 1;
            digits[first] = b'0' + (number % 10) as u8;
            number /= 10;
        }
        digits[first..].iter().for_each(|&digit| self.byte(digit));
    }

    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).expect("digits and signs")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_numbers() {
        let mut note = Note::new();
        for (number, least) in [(0, 1), (7, 2), (3_000, 1), (u64::MAX, 1)] {
            note.number(number, least);
            note.byte(b' ');
        }
        assert_eq!(note.as_str(), "0 07 3000 18446744073709551615 ");
    }
}
