//! Both ways to compare keys give the same order, that of the bytes, whatever the columns and the bytes are.

use super::*;
use crate::classic::tree::entries::Entries;
use crate::record::{ColumnType, EncodedKey, KeyColumn, KeyWriter};

const KINDS: [ColumnType; 21] = [
    ColumnType::U8,
    ColumnType::U16,
    ColumnType::U32,
    ColumnType::U64,
    ColumnType::I8,
    ColumnType::I16,
    ColumnType::I32,
    ColumnType::I64,
    ColumnType::Bool,
    ColumnType::Timestamp,
    ColumnType::Decimal(4),
    ColumnType::Text(5),
    ColumnType::Text(1),
    ColumnType::Bytes(11),
    ColumnType::U128,
    ColumnType::I128,
    ColumnType::F32,
    ColumnType::F64,
    ColumnType::Date,
    ColumnType::TimeOfDay,
    ColumnType::Uuid,
];

/// Bytes that differ little: values of columns, and what bounds of scans are made of.
fn bytes(dice: &mut Dice, width: usize) -> Vec<u8> {
    let kind = dice.below(4);
    (0..width)
        .map(|_| match kind {
            0 => [0, 1][dice.below(2) as usize],
            1 => [0, 1, 127, 128, 255][dice.below(5) as usize],
            2 => [0, 255][dice.below(2) as usize],
            _ => dice.roll() as u8,
        })
        .collect()
}

fn agree(parts: &[KeyPart], dice: &mut Dice) {
    let schema = SchemaKeys::new(parts);
    let width = schema.width();
    let integers = IntegerKeys::new(width);
    let mut keys: Vec<Vec<u8>> = (0..40).map(|_| bytes(dice, width)).collect();
    for left in &keys {
        for right in &keys {
            let order = left.cmp(right);
            assert_eq!(schema.compare(left, right), order, "{parts:?}: {left:?} {right:?}");
            assert_eq!(integers.compare(left, right), order, "{left:?} {right:?}");
        }
    }
    keys.sort();
    keys.dedup();
    let wanted: Vec<Vec<u8>> = keys.iter().cloned().chain((0..40).map(|_| bytes(dice, width))).collect();
    for (count, value) in [(keys.len(), 8), (keys.len() / 2, 8), (keys.len(), 4), (1, 4), (0, 8)] {
        // What stands behind the keys must not matter.
        for filling in [0, 255] {
            let mut page: Vec<u8> =
                keys[..count].iter().flat_map(|key| [key.clone(), vec![filling; value]].concat()).collect();
            page.extend([filling; 8]);
            let entries = Entries::new(&page, width + value, count);
            for key in &wanted {
                let smaller = keys[..count].iter().filter(|other| *other < key).count();
                let here = keys[..count].contains(key);
                assert_eq!(schema.smaller(entries, schema.probe(key)), smaller);
                assert_eq!(integers.smaller(entries, integers.probe(key)), smaller);
                assert_eq!(schema.not_greater(entries, schema.probe(key)), smaller + usize::from(here));
                assert_eq!(integers.not_greater(entries, integers.probe(key)), smaller + usize::from(here));
                if smaller < count {
                    assert_eq!(schema.is_at(entries, smaller, schema.probe(key)), here);
                    assert_eq!(integers.is_at(entries, smaller, integers.probe(key)), here);
                }
            }
        }
    }
}

#[test]
fn on_every_column_and_on_several() {
    let mut dice = Dice(3);
    for kind in KINDS {
        for nullable in [false, true] {
            agree(&[KeyPart { kind: kind.clone(), nullable }], &mut dice);
        }
    }
    for _ in 0..200 {
        let parts: Vec<KeyPart> = (0..1 + dice.below(5))
            .map(|_| KeyPart { kind: KINDS[dice.below(21) as usize].clone(), nullable: dice.below(3) == 0 })
            .collect();
        agree(&parts, &mut dice);
    }
}

/// The schema's way is by value: the order of the encoded forms is that of what was encoded.
#[test]
fn values_are_decoded() {
    fn encoded<C: KeyColumn>(value: C) -> Vec<u8> {
        let mut writer = KeyWriter::<[u8; 16]>::default();
        value.push(&mut writer);
        writer.finish(0, 16).for_bytes(16, <[u8]>::to_vec)
    }
    fn ordered<C: KeyColumn + Ord>(mut values: Vec<C>, nullable: bool) {
        values.sort();
        let rest = KeyPart { kind: ColumnType::Bytes(16 - C::KEY_WIDTH), nullable: false };
        let keys = SchemaKeys::new(&[KeyPart { kind: C::TYPE, nullable }, rest]);
        assert_eq!(keys.width(), 16);
        for pair in values.windows(2) {
            assert_eq!(keys.compare(&encoded(pair[0]), &encoded(pair[1])), pair[0].cmp(&pair[1]));
        }
    }
    ordered(vec![i8::MIN, -1, 0, 1, i8::MAX], false);
    ordered(vec![i16::MIN, -300, -1, 0, 1, 300, i16::MAX], false);
    ordered(vec![i32::MIN, -70_000, -1, 0, 1, i32::MAX], false);
    ordered(vec![i64::MIN, -1, 0, 1, i64::MAX], false);
    ordered(vec![0_u16, 1, 255, 256, u16::MAX], false);
    ordered(vec![None, Some(-5_i32), Some(0), Some(i32::MIN)], true);
    ordered(vec![false, true], false);
    ordered(["", "a", "ab", "b", "é"].map(|text| crate::record::Text::<5>::new(text).unwrap()).to_vec(), false);
}
