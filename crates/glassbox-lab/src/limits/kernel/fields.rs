//! Work on the bytes of single columns: looking for `ORIGINAL`, and putting a line before a customer's data.

use super::payment::PaymentInput;
use super::rows::Customer;

const ORIGINAL: &[u8; 8] = b"ORIGINAL";

/// Whether the data of an item or of its stock say `ORIGINAL` somewhere.
///
/// Few texts have a G with an N two places on, so this is asked first, of three blocks of sixteen places at once: the compiler makes
/// vector instructions of it, because the blocks' size is that of a vector and nothing depends on an earlier place.
#[inline(always)]
pub(super) fn is_original(data: &[u8; 50]) -> bool {
    const G: usize = 3;
    let mut possible = [false; 16];
    // The last block overlaps the second: the word starts at place 42 at the latest.
    for first in [0, 16, 42 - 15] {
        for (i, possible) in possible.iter_mut().enumerate() {
            *possible |= (data[first + i + G] == b'G') & (data[first + i + G + 2] == b'N');
        }
    }
    possible != [false; 16] && contains_original(data)
}

#[inline(never)]
fn contains_original(data: &[u8; 50]) -> bool {
    data.windows(8).any(|window| window == ORIGINAL)
}

/// Puts the payment's numbers before the data of a customer with bad credit; what no longer fits is lost (clause 2.5.2.2).
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
