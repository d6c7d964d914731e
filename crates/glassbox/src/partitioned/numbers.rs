//! The numbers that procedures have in the log, by their types.
//!
//! Asked for at each call, so not searched for: a table is made large enough that no two procedures meet in it.

use std::any::TypeId;
use std::hash::{Hash, Hasher};

/// Number of each procedure, at the place that its type decides.
#[derive(Debug)]
pub(super) struct Numbers(Box<[(TypeId, u16)]>);

/// Places of a table of which nobody makes a larger one: types that still meet there are the same.
const MOST_PLACES: usize = 1 << 20;

/// The bits of a type's identity, which are a hash already. Known when the program is compiled.
struct Bits(u64);

impl Hasher for Bits {
    #[inline(always)]
    fn finish(&self) -> u64 {
        self.0
    }

    #[inline(always)]
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = self.0.rotate_left(8) ^ u64::from(byte));
    }

    #[inline(always)]
    fn write_u64(&mut self, bits: u64) {
        self.0 ^= bits;
    }
}

#[inline(always)]
fn place_of(id: TypeId, places: usize) -> usize {
    let mut bits = Bits(0);
    id.hash(&mut bits);
    bits.finish() as usize & (places - 1)
}

impl Numbers {
    pub(super) fn new(procedures: &[(TypeId, u16)]) -> Self {
        let mut places = procedures.len().next_power_of_two();
        loop {
            // Nobody's type.
            let mut numbers = vec![(TypeId::of::<Self>(), 0); places];
            procedures.iter().for_each(|&(id, number)| numbers[place_of(id, places)] = (id, number));
            let found = procedures.iter().all(|&(id, _)| numbers[place_of(id, places)].0 == id);
            if found {
                return Self(numbers.into());
            }
            assert!(places < MOST_PLACES, "types of procedures cannot be told from each other");
            places *= 2;
        }
    }

    /// The number of a procedure, if it has one.
    #[inline(always)]
    pub(super) fn of<P: 'static>(&self) -> Option<u16> {
        let id = TypeId::of::<P>();
        let &(found, number) = self.0.get(place_of(id, self.0.len()))?;
        (found == id).then_some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_procedure_has_its_number_and_others_have_none() {
        let ids =
            [TypeId::of::<u8>(), TypeId::of::<u16>(), TypeId::of::<u32>(), TypeId::of::<i8>(), TypeId::of::<i16>()];
        let numbers = Numbers::new(&ids.map(|id| (id, ids.iter().position(|it| *it == id).unwrap() as u16)));
        let found = [numbers.of::<u8>(), numbers.of::<u16>(), numbers.of::<u32>(), numbers.of::<i8>()];
        assert_eq!(found, [Some(0), Some(1), Some(2), Some(3)]);
        assert_eq!((numbers.of::<i16>(), numbers.of::<i32>()), (Some(4), None));
        assert_eq!(Numbers::new(&[]).of::<u8>(), None);
    }
}
