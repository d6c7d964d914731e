//! The differences of two records.

use super::between;
use crate::classic::heap::difference::{apply, next};
use crate::io::Dice;

fn ranges(before: &[u8], after: &[u8]) -> Vec<(usize, usize)> {
    let encoded = between(before, after);
    let mut rest = encoded.as_slice();
    let mut found = Vec::new();
    while !rest.is_empty() {
        let range = next(&mut rest).unwrap();
        found.push((range.offset, range.after.len()));
    }
    found
}

#[test]
fn near_differences_are_one_range_and_far_ones_are_not() {
    let before = [0; 40];
    let changed = |places: &[usize]| {
        let mut after = before;
        places.iter().for_each(|at| after[*at] = 1);
        ranges(&before, &after)
    };
    assert_eq!(changed(&[]), []);
    assert_eq!(changed(&[0]), [(0, 1)]);
    assert_eq!(changed(&[39]), [(39, 1)]);
    assert_eq!(changed(&[3, 11]), [(3, 9)]);
    assert_eq!(changed(&[3, 12]), [(3, 1), (12, 1)]);
    assert_eq!(changed(&[0, 7, 15, 23, 31, 39]), [(0, 40)]);
    assert_eq!(ranges(b"abc", b"axc"), [(1, 1)]);
    let (long, mut after) = ([0; 400], [0; 400]);
    assert_eq!(ranges(&long, &after), []);
    // The same where parts that are compared as one meet, and in the last one.
    [120, 127, 128, 135, 255, 264, 399].iter().for_each(|at| after[*at] = 1);
    assert_eq!(ranges(&long, &after), [(120, 16), (255, 1), (264, 1), (399, 1)]);
    assert_eq!(ranges(b"", b""), []);
}

#[test]
fn applied_they_make_one_record_of_the_other() {
    let mut dice = Dice(1);
    for _ in 0..3000 {
        // Some longer than what is compared as one.
        let length = if dice.place(2) == 0 { dice.place(100) } else { dice.place(700) };
        let before = dice.bytes(length);
        let mut after = before.clone();
        for _ in 0..dice.place(5) {
            if length > 0 {
                let at = dice.place(length);
                after[at] = dice.roll() as u8;
            }
        }
        let ranges = between(&before, &after);
        let mut record = before.clone();
        apply(&mut record, &ranges, false).unwrap();
        assert_eq!(record, after);
        apply(&mut record, &ranges, true).unwrap();
        assert_eq!(record, before);
        if !ranges.is_empty() {
            assert!(apply(&mut record, &ranges, true).is_err(), "what is replaced must be there");
            assert_eq!(record, before);
        }
    }
}
