//! Histories of a B-tree against the standard library's ordered map.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::io::Dice;
use crate::partitioned::storage::memory::btree::{BTree, Next, NotInserted, check};
use crate::partitioned::storage::memory::rows::RowId;
use crate::record::{Direction, EncodedKey};

/// Makes a key of each kind from a number, in the same order.
trait FromNumber: EncodedKey {
    fn from_number(number: u64) -> Self;
}

impl FromNumber for u64 {
    fn from_number(number: u64) -> Self {
        // The largest key is an ordinary key.
        if number == 499 { Self::MAX } else { number * 3 }
    }
}

impl FromNumber for u128 {
    fn from_number(number: u64) -> Self {
        Self::from(number) << 60
    }
}

impl FromNumber for [u8; 21] {
    fn from_number(number: u64) -> Self {
        let mut key = [0; 21];
        key[7..15].copy_from_slice(&number.to_be_bytes());
        key
    }
}

/// Looks a key up level by level.
fn descend<K: EncodedKey, const L: usize, const I: usize>(tree: &BTree<K, L, I>, key: &K) -> Option<RowId> {
    let mut node = tree.root();
    loop {
        tree.prefetch_node(node);
        match tree.descend(node, key) {
            Next::Child(child) => node = child,
            Next::Leaf(found) => return found,
        }
    }
}

fn compare_range<K: FromNumber, const L: usize, const I: usize>(
    tree: &BTree<K, L, I>,
    model: &BTreeMap<K, RowId>,
    bounds: (u64, u64),
) {
    let (low, high) = (K::from_number(bounds.0), K::from_number(bounds.1));
    let expected = || model.iter().filter(|(key, _)| **key >= low && **key <= high).map(|(key, row)| (*key, *row));
    assert!(tree.range(&low, &high, Direction::Forward).eq(expected()));
    assert!(tree.range(&low, &high, Direction::Backward).eq(expected().collect::<Vec<_>>().into_iter().rev()));
}

/// Inserts keys as one run; how many there were.
fn insert_run<K: FromNumber, const L: usize, const I: usize>(
    tree: &mut BTree<K, L, I>,
    model: &mut BTreeMap<K, RowId>,
    step: usize,
    numbers: Range<u64>,
) -> usize {
    let keys: Vec<_> = numbers.map(K::from_number).collect();
    let row = |at: usize| RowId::new((step + at) as u32);
    tree.prefetch_end(&keys[0], &keys[keys.len() - 1]);
    let taken = keys.iter().position(|key| model.contains_key(key));
    let expected = taken.map_or(Ok(()), |at| Err((at as u32, NotInserted::Taken(model[&keys[at]]))));
    let inserted = tree.insert_run(row(0), keys.len() as u32, |at| keys[at as usize]);
    assert_eq!(inserted, expected);
    let new = keys.iter().take(taken.unwrap_or(keys.len())).enumerate();
    model.extend(new.map(|(at, key)| (*key, row(at))));
    keys.len()
}

/// Runs a dice history with `range` keys: runs of neighbours, single keys, growth and shrinking in phases.
fn agree<K: FromNumber, const L: usize, const I: usize>(seed: u64, steps: usize, range: u64) {
    let mut dice = Dice(seed);
    let (mut tree, mut model) = (BTree::<K, L, I>::new(usize::MAX, &mut Default::default()).unwrap(), BTreeMap::new());
    let mut step = 0;
    while step < steps {
        let grow = dice.below(10) < if (step / (steps / 6)).is_multiple_of(2) { 7 } else { 3 };
        let (start, length) = (dice.below(range), if dice.below(4) == 0 { dice.below(40) + 1 } else { 1 });
        let end = (start + length).min(range);
        if grow && dice.below(2) == 0 {
            step += insert_run(&mut tree, &mut model, step, start..end);
            continue;
        }
        for number in start..end {
            let key = K::from_number(number);
            if grow {
                let row = RowId::new(step as u32);
                let expected = model.get(&key).map_or(Ok(()), |&row| Err(row));
                assert_eq!(tree.insert(key, row), expected.map_err(NotInserted::Taken));
                model.entry(key).or_insert(row);
            } else {
                assert_eq!(tree.remove(&key), model.remove(&key));
            }
            step += 1;
        }
        let probe = K::from_number(dice.below(range));
        assert_eq!(tree.get(&probe), model.get(&probe).copied());
        assert_eq!(descend(&tree, &probe), model.get(&probe).copied());
        if dice.below(500) == 0 {
            check(&tree).unwrap();
            assert_eq!(tree.len(), model.len());
            assert_eq!(tree.first(), model.first_key_value().map(|(key, row)| (*key, *row)));
            assert_eq!(tree.last(), model.last_key_value().map(|(key, row)| (*key, *row)));
            compare_range(&tree, &model, (dice.below(range), dice.below(range)));
        }
    }
    compare_range(&tree, &model, (0, range));
    for key in model.into_keys().collect::<Vec<_>>() {
        assert!(tree.remove(&key).is_some());
    }
    check(&tree).unwrap();
    assert_eq!((tree.len(), tree.height, tree.nodes.leaves, tree.nodes.inners), (0, 0, 1, 0));
}

#[test]
fn agrees_with_a_map_with_tiny_nodes() {
    agree::<u64, 4, 4>(1, 200_000, 3_000);
    agree::<u64, 4, 8>(2, 100_000, 500);
    agree::<u64, 8, 4>(3, 100_000, 20);
    agree::<u128, 4, 4>(4, 100_000, 3_000);
    agree::<[u8; 21], 4, 4>(5, 100_000, 3_000);
}

#[test]
fn agrees_with_a_map_with_real_nodes() {
    agree::<u64, 64, 256>(6, 300_000, 100_000);
    agree::<u128, 64, 256>(7, 200_000, 50_000);
    agree::<[u8; 21], 64, 256>(8, 100_000, 30_000);
}

/// Appends to ascending ranges in turn; gives the fill of the leaves.
fn fill_after_appending(ranges: u64, each: u64, burst: u64) -> f64 {
    let mut tree = BTree::<u64>::new(usize::MAX, &mut Default::default()).unwrap();
    for start in (0..each).step_by(burst as usize) {
        for range in 0..ranges {
            for number in start..(start + burst).min(each) {
                tree.insert(range << 32 | number, RowId::new(number as u32)).unwrap();
            }
        }
    }
    check(&tree).unwrap();
    tree.len() as f64 / (tree.nodes.leaves * 64) as f64
}

#[test]
fn appending_to_many_ranges_fills_the_leaves() {
    for (ranges, burst) in [(1, 1), (50, 1), (50, 10), (7, 3)] {
        let fill = fill_after_appending(ranges, 3_000, burst);
        assert!(fill > 0.9, "{ranges} ranges, {burst} at a time: {fill}");
    }
}

#[test]
fn random_order_fills_two_thirds() {
    let (mut tree, mut dice) = (BTree::<u64>::new(usize::MAX, &mut Default::default()).unwrap(), Dice(9));
    (0..100_000).for_each(|n| tree.insert(dice.roll(), RowId::new(n)).unwrap());
    let fill = tree.len() as f64 / (tree.nodes.leaves * 64) as f64;
    assert!(fill > 0.6, "{fill}");
}

#[test]
fn a_queue_reuses_its_space() {
    let mut tree = BTree::<u64, 8, 4>::new(usize::MAX, &mut Default::default()).unwrap();
    let mut used = 0;
    for key in 0..200_000 {
        tree.insert(key, RowId::new(key as u32)).unwrap();
        if key >= 1_000 {
            assert_eq!(tree.first().map(|(key, _)| key), Some(key - 1_000));
            tree.remove(&(key - 1_000)).unwrap();
        }
        if key == 5_000 {
            used = tree.used_bytes();
        }
    }
    check(&tree).unwrap();
    assert_eq!(tree.used_bytes(), used);
}

#[test]
fn an_empty_tree_answers() {
    let mut tree = BTree::<u64>::new(usize::MAX, &mut Default::default()).unwrap();
    check(&tree).unwrap();
    assert_eq!((tree.get(&0), tree.get(&u64::MAX), tree.remove(&1)), (None, None, None));
    assert_eq!((tree.first(), tree.last(), tree.len()), (None, None, 0));
    assert_eq!(tree.range(&0, &u64::MAX, Direction::Forward).next(), None);
    assert_eq!(tree.range(&0, &u64::MAX, Direction::Backward).next(), None);
}

/// A sound tree of three levels with the keys 10, 20, … 2000.
fn sound() -> BTree<u64, 8, 8> {
    let mut tree = BTree::new(usize::MAX, &mut Default::default()).unwrap();
    (1..=200).for_each(|n| tree.insert(n * 10, RowId::new(n as u32)).unwrap());
    check(&tree).unwrap();
    tree
}

#[test]
fn damage_is_found() {
    type Damage = fn(&mut BTree<u64, 8, 8>, u32);
    let cases: [(&str, Damage); 9] = [
        ("out of order", |tree, leaf| tree.nodes.leaf_mut(leaf).keys.swap(1, 2)),
        ("does not belong", |tree, leaf| tree.nodes.leaf_mut(leaf).keys[7] += 100),
        ("behind its last", |tree, leaf| tree.nodes.leaf_mut(leaf).count -= 1),
        ("not linked", |tree, leaf| tree.nodes.leaf_mut(leaf).next = leaf),
        ("has 0 keys", |tree, leaf| {
            tree.nodes.leaf_mut(leaf).keys = [u64::MAX; 8];
            tree.nodes.leaf_mut(leaf).count = 0;
        }),
        ("the count is", |tree, _| tree.entries += 1),
        ("separator", |tree, _| tree.nodes.inner_mut(tree.root).separators[0] = 5_000),
        ("does not exist", |tree, _| tree.nodes.inner_mut(tree.root).children[1] = 1 << 30),
        ("not all keys from", |tree, leaf| tree.fingers.0[0].leaf = leaf),
    ];
    for (expected, damage) in cases {
        let mut tree = sound();
        let leaf = tree.leaf_of(&1_000);
        damage(&mut tree, leaf);
        let found = check(&tree).unwrap_err();
        assert!(found.contains(expected), "expected {expected}, got {found}");
    }
}
