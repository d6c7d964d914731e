//! The numbers that procedures have in the log, by their types.
//!
//! Asked for at each call, so hardly searched for: a table is made large enough that no two procedures meet in it, if
//! there are not very many.

use std::any::TypeId;
use std::hash::{Hash, Hasher};

/// The number of each procedure, at the place that its type decides.
#[derive(Debug)]
pub struct ProcedureNumbers(Box<[(TypeId, u16)]>);

/// Places of a table that is not made larger for those that still meet in it.
const MAX_PLACES: usize = 1 << 12;

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

/// Nobody's type.
const NOBODY: (TypeId, u16) = (TypeId::of::<ProcedureNumbers>(), 0);

impl ProcedureNumbers {
    pub(crate) fn new(procedures: &[(TypeId, u16)]) -> Self {
        // Half of it is free at least, so a search ends.
        let mut places = (procedures.len() * 2).next_power_of_two().max(2);
        loop {
            let (mut numbers, mut meet) = (vec![NOBODY; places], false);
            for &(id, number) in procedures {
                let mut at = place_of(id, places);
                while numbers[at].0 != NOBODY.0 && numbers[at].0 != id {
                    (at, meet) = ((at + 1) % places, true);
                }
                numbers[at] = (id, number);
            }
            if !meet || places >= MAX_PLACES {
                return Self(numbers.into());
            }
            places *= 2;
        }
    }

    /// The number of a procedure, if it has one.
    #[inline(always)]
    pub fn of<P: 'static>(&self) -> Option<u16> {
        let id = TypeId::of::<P>();
        let at = place_of(id, self.0.len());
        let &(found, number) = self.0.get(at)?;
        if found == id { Some(number) } else { self.search(id, at) }
    }

    #[cold]
    fn search(&self, id: TypeId, from: usize) -> Option<u16> {
        let places = (0..self.0.len()).map(|step| self.0[(from + step) % self.0.len()]);
        places.take_while(|&(found, _)| found != NOBODY.0).find_map(|(found, number)| (found == id).then_some(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_procedure_has_its_number_and_others_have_none() {
        let ids =
            [TypeId::of::<u8>(), TypeId::of::<u16>(), TypeId::of::<u32>(), TypeId::of::<i8>(), TypeId::of::<i16>()];
        let numbers = ProcedureNumbers::new(&ids.map(|id| (id, ids.iter().position(|it| *it == id).unwrap() as u16)));
        let found = [numbers.of::<u8>(), numbers.of::<u16>(), numbers.of::<u32>(), numbers.of::<i8>()];
        assert_eq!(found, [Some(0), Some(1), Some(2), Some(3)]);
        assert_eq!((numbers.of::<i16>(), numbers.of::<i32>()), (Some(4), None));
        assert_eq!(ProcedureNumbers::new(&[]).of::<u8>(), None);
    }

    /// As many as fill half of the largest table that is tried: some meet.
    #[test]
    fn those_that_meet_are_searched_for() {
        struct Number<const N: usize>;
        macro_rules! ids {
            ($($of:literal)*) => { [$(TypeId::of::<Number<$of>>()),*] };
        }
        let ids = ids!(0 1 2 3 4 5 6 7);
        // All of them in the smallest table, whatever meets there.
        let mut numbers = ProcedureNumbers(vec![NOBODY; 16].into());
        for (number, &id) in ids.iter().enumerate() {
            let mut at = place_of(id, 16);
            while numbers.0[at].0 != NOBODY.0 {
                at = (at + 1) % 16;
            }
            numbers.0[at] = (id, number as u16);
        }
        let found = [numbers.of::<Number<0>>(), numbers.of::<Number<3>>(), numbers.of::<Number<7>>()];
        assert_eq!(found, [Some(0), Some(3), Some(7)]);
        assert!((0..8).all(|at| {
            let from = place_of(ids[at], 16);
            numbers.0[from].0 == ids[at] || numbers.search(ids[at], from) == Some(at as u16)
        }));
        assert_eq!(numbers.of::<Number<8>>(), None);
    }
}
