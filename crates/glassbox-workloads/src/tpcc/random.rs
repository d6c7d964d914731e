//! Random numbers and texts of TPC-C: NURand (clause 2.1.6), last names (4.3.2.3), strings (4.3.2.2), postal codes
//! (4.3.2.7).
//!
//! The generator is our own so that a seed gives the same database and the same inputs for ever, whatever libraries do.

use glassbox::record::Text;

/// A small generator: SplitMix64 (Steele, Lea, Flood, *Fast Splittable Pseudorandom Number Generators*, OOPSLA 2014).
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

    /// Starts from a seed; neighbouring seeds give unrelated numbers.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// A generator for one part of a whole (a table of a warehouse, say), unrelated to that of other parts.
    pub fn of_part(seed: u64, part: [u64; 3]) -> Self {
        Self::new(part.into_iter().fold(seed, |seed, number| Self::new(seed ^ number).next()))
    }

    /// 64 random bits.
    #[inline(always)]
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(Self::STEP);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Uniform over `low..=high`: the specification's `random(x, y)`.
    #[inline(always)]
    pub fn uniform(&mut self, low: u64, high: u64) -> u64 {
        // A multiplication maps 64 bits to the range; for ranges below 2³² the bias is below 2⁻³².
        low + ((u128::from(self.next()) * u128::from(high - low + 1)) >> 64) as u64
    }

    /// True in `percent` of 100 cases.
    #[inline(always)]
    pub fn percent(&mut self, percent: f64) -> bool {
        ((self.next() >> 11) as f64) < percent / 100.0 * (1_u64 << 53) as f64
    }

    /// Shuffles in place (Fisher and Yates).
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.uniform(0, last as u64) as usize);
        }
    }

    /// A random "a-string": letters and digits, of a length within `low..=high`.
    pub fn a_string<const N: usize>(&mut self, low: usize, high: usize) -> Text<N> {
        const CHARACTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        self.string(low, high, CHARACTERS)
    }

    /// A random "n-string": digits, of a length within `low..=high`.
    pub fn n_string<const N: usize>(&mut self, low: usize, high: usize) -> Text<N> {
        self.string(low, high, b"0123456789")
    }

    /// Two random capital letters.
    pub fn state(&mut self) -> Text<2> {
        self.string(2, 2, b"ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    }

    /// Four random digits and `11111`.
    pub fn zip(&mut self) -> Text<9> {
        let mut bytes = *b"000011111";
        self.fill(&mut bytes[..4], b"0123456789");
        ascii(&bytes)
    }

    /// I_DATA and S_DATA: an a-string of 26 to 50, `ORIGINAL` somewhere in it in one case of ten.
    pub fn data(&mut self) -> Text<50> {
        let text = self.a_string::<50>(26, 50);
        if self.uniform(1, 10) > 1 {
            return text;
        }
        let mut bytes = [0; 50];
        let length = text.len();
        bytes[..length].copy_from_slice(text.as_str().as_bytes());
        let at = self.uniform(0, (length - ORIGINAL.len()) as u64) as usize;
        bytes[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL.as_bytes());
        ascii(&bytes[..length])
    }

    fn string<const N: usize>(&mut self, low: usize, high: usize, characters: &[u8]) -> Text<N> {
        assert!(high <= N, "a string of {high} does not fit a column of {N}");
        let mut bytes = [0; N];
        let length = self.uniform(low as u64, high as u64) as usize;
        self.fill(&mut bytes[..length], characters);
        ascii(&bytes[..length])
    }

    fn fill(&mut self, bytes: &mut [u8], characters: &[u8]) {
        for four in bytes.chunks_mut(4) {
            let mut bits = self.next();
            for byte in four {
                *byte = characters[((bits & 0xffff) as usize * characters.len()) >> 16];
                bits >>= 16;
            }
        }
    }
}

/// What brand items and stocks have in their data.
pub const ORIGINAL: &str = "ORIGINAL";

/// Whether I_DATA or S_DATA holds `ORIGINAL`.
#[inline]
pub fn is_original(data: &Text<50>) -> bool {
    let data = data.padded();
    // Few texts have a G with an N two places on, so this is asked first. Of 48 places, although 43 would do: that many
    // the compiler compares sixteen at a time.
    let (first, third): (&[u8; 48], &[u8; 48]) =
        (data.first_chunk().expect("of 50"), data.last_chunk().expect("of 50"));
    has_g_and_n(first, third) && holds_original(data)
}

#[inline(always)]
fn has_g_and_n<const N: usize>(first: &[u8; N], third: &[u8; N]) -> bool {
    first.iter().zip(third).fold(false, |found, (g, n)| found | ((*g == b'G') & (*n == b'N')))
}

/// The same of data with such places.
#[inline(never)]
fn holds_original(data: &[u8; 50]) -> bool {
    let found = |at: usize| data[at] == b'G' && at >= 3 && data[at - 3..].starts_with(ORIGINAL.as_bytes());
    let blocks = data[..48].as_chunks::<16>().0.iter().zip(data[2..].as_chunks().0).enumerate();
    let mut places = blocks.filter(|(_, (first, third))| has_g_and_n(first, third)).map(|(block, _)| block * 16);
    places.any(|begin| (begin..begin + 16).any(found))
}

fn ascii<const N: usize>(bytes: &[u8]) -> Text<N> {
    Text::new(std::str::from_utf8(bytes).expect("made of ASCII")).expect("made to fit")
}

/// The constants of NURand, chosen once per run (clause 2.1.6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constants {
    /// For last names: 0 to 255.
    pub c_last: u64,
    /// For customers: 0 to 1023.
    pub c_id: u64,
    /// For items: 0 to 8191.
    pub ol_i_id: u64,
}

impl Constants {
    /// Those of the population, "C-Load".
    pub fn for_load(seed: u64) -> Self {
        let mut random = Random::of_part(seed, [0xc10ad, 0, 0]);
        Self { c_last: random.uniform(0, 255), c_id: random.uniform(0, 1023), ol_i_id: random.uniform(0, 8191) }
    }

    /// Those of a run, "C-Run", against a population from `load_seed`: the two constants for last names differ by 65 to
    /// 119, but neither 96 nor 112, so that a run's most frequent names are not those of the population.
    pub fn for_run(load_seed: u64, seed: u64) -> Self {
        let load = Self::for_load(load_seed);
        let mut random = Random::of_part(seed, [0xc509, 0, 0]);
        let c_last = loop {
            let c_last = random.uniform(0, 255);
            let delta = c_last.abs_diff(load.c_last);
            if (65..=119).contains(&delta) && delta != 96 && delta != 112 {
                break c_last;
            }
        };
        Self { c_last, c_id: random.uniform(0, 1023), ol_i_id: random.uniform(0, 8191) }
    }

    /// Number of a last name among the first `names` (1,000 at full scale).
    #[inline]
    pub fn last_name(&self, random: &mut Random, names: u64) -> u64 {
        nurand(random, 255, self.c_last, 0, names - 1)
    }

    /// A customer of `customers` in a district.
    #[inline]
    pub fn customer(&self, random: &mut Random, customers: u64) -> u64 {
        nurand(random, 1023, self.c_id, 1, customers)
    }

    /// An item of `items`.
    #[inline]
    pub fn item(&self, random: &mut Random, items: u64) -> u64 {
        nurand(random, 8191, self.ol_i_id, 1, items)
    }
}

/// Non-uniform random: NURand(A, x, y) with constant `c`.
#[inline]
pub fn nurand(random: &mut Random, a: u64, c: u64, x: u64, y: u64) -> u64 {
    (((random.uniform(0, a) | random.uniform(x, y)) + c) % (y - x + 1)) + x
}

/// How many last names there are.
pub const LAST_NAMES: u64 = 1000;

/// The last name of a number below 1,000: a syllable for each of its three digits.
///
/// # Panics
/// For a larger number.
pub fn last_name(number: u64) -> Text<16> {
    const SYLLABLES: [&[u8]; 10] =
        [b"BAR", b"OUGHT", b"ABLE", b"PRI", b"PRES", b"ESE", b"ANTI", b"CALLY", b"ATION", b"EING"];
    assert!(number < LAST_NAMES, "last names are numbered 0 to 999, not {number}");
    let (mut bytes, mut length) = ([0; 16], 0);
    for digit in [number / 100, number / 10 % 10, number % 10] {
        let syllable = SYLLABLES[digit as usize];
        bytes[length..length + syllable.len()].copy_from_slice(syllable);
        length += syllable.len();
    }
    ascii(&bytes[..length])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn original_is_found_wherever_it_is() {
        for at in 0..=42 {
            let text = format!("{}{ORIGINAL}{}", "G".repeat(at), "N".repeat(42 - at));
            assert!(is_original(&Text::new(&text).unwrap()), "{text}");
            assert!(!is_original(&Text::new(&text.replace("GINA", "GxNA")).unwrap()));
        }
    }
}
