//! Work on the bytes of single columns: searching for `ORIGINAL`, and prepending a line to a customer's data.

use crate::inputs::PaymentInput;
use crate::rows::Customer;

const ORIGINAL: &[u8; 8] = b"ORIGINAL";

/// Whether the data of an item or of its stock say `ORIGINAL` somewhere.
///
/// Few texts have a G with an N two places on, so this is tested first, for sixteen places at a time.
#[inline(always)]
pub(super) fn is_original(data: &[u8; 50]) -> bool {
    may_be_original(data) && contains_original(data)
}

/// Whether a G stands with an N two places on where the word could have them. Written by hand for x86-64, because the
/// compiler makes a loop over bytes of it, which was a third of all instructions of this mix.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn may_be_original(data: &[u8; 50]) -> bool {
    use std::arch::x86_64::{
        _mm_and_si128, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
    };

    // The words of a block start at these places and the fifteen after; the last possible place is 42.
    let [one, two, three] = [0, 16, 42 - 15].map(|block| {
        let (g, n) = (&data[block + 3..block + 3 + 16], &data[block + 5..block + 5 + 16]);
        // SAFETY: both slices have the sixteen bytes that are loaded, and SSE2 is part of every x86-64.
        unsafe {
            let g = _mm_cmpeq_epi8(_mm_loadu_si128(g.as_ptr().cast()), _mm_set1_epi8(b'G' as i8));
            let n = _mm_cmpeq_epi8(_mm_loadu_si128(n.as_ptr().cast()), _mm_set1_epi8(b'N' as i8));
            _mm_and_si128(g, n)
        }
    });
    // SAFETY: SSE2 is part of every x86-64.
    unsafe { _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(one, two), three)) != 0 }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn may_be_original(data: &[u8; 50]) -> bool {
    data[3..46].iter().zip(&data[5..48]).any(|pair| pair == (&b'G', &b'N'))
}

#[inline(never)]
fn contains_original(data: &[u8; 50]) -> bool {
    data.windows(8).any(|window| window == ORIGINAL)
}

/// Puts the payment's numbers before the data of a customer with bad credit; what no longer fits is lost (clause
/// 2.5.2.2).
#[inline(never)]
pub(super) fn remember_payment(customer: &mut Customer, input: &PaymentInput) {
    let amount = input.amount.unsigned_abs();
    let mut line = Digits { bytes: [b' '; 40], used: 0 };
    for number in
        [u32::from(input.c_id), input.c_d_id.into(), input.c_w_id.into(), input.d_id.into(), input.w_id.into()]
    {
        line.number(number);
        line.used += 1;
    }
    line.number(amount / 100);
    line.bytes[line.used] = b'.';
    line.bytes[line.used + 1] = b'0' + (amount / 10 % 10) as u8;
    line.bytes[line.used + 2] = b'0' + (amount % 10) as u8;
    let used = line.used + 4;
    let kept = customer.data.len() - used;
    customer.data.copy_within(..kept, used);
    customer.data[..used].copy_from_slice(&line.bytes[..used]);
}

/// A short line of numbers: at most 5 + 3 + 5 + 3 + 5 + 8 digits, five spaces, a point and a space.
struct Digits {
    bytes: [u8; 40],
    used: usize,
}

impl Digits {
    fn number(&mut self, number: u32) {
        let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
        let mut rest = number;
        for place in self.bytes[self.used..self.used + digits].iter_mut().rev() {
            *place = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.used += digits;
    }
}
