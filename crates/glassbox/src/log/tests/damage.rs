//! Damaged files: an error, or every record; never silently fewer, never a panic.

use super::*;
use crate::log::format::{Block, BlockKind, Segment};

/// A small closed log over several segments, and its records.
fn small() -> (MemoryFiles, Vec<(Lsn, Vec<u8>)>) {
    let files = MemoryFiles::new();
    let config = LogConfig { segment_bytes: 4096, ..tiny() };
    let log = create(&files, config);
    let mut appender = log.appender().unwrap();
    let mut records = Vec::new();
    for n in 0..40 {
        let lsn = appender.append(&record(n)).unwrap();
        records.push((lsn, record(n)));
        if n % 4 == 3 {
            log.wait(lsn).unwrap();
        }
    }
    log.close().unwrap();
    (files, records)
}

#[test]
fn a_flipped_byte_anywhere_is_an_error_or_harmless() {
    let (files, records) = small();
    let names = segments(&files);
    assert!(names.len() >= 3);
    let (mut harmless, mut errors) = (0, 0);
    for name in &names {
        for (offset, byte) in bytes_of(&files, name).into_iter().enumerate() {
            for flip in [0x01, 0x80, 0xff] {
                let copy = files.after_kill();
                copy.open(name).unwrap().write_at(&[byte ^ flip], offset as u64).unwrap();
                match open(&copy, tiny(), Lsn::NONE) {
                    Ok((_, found)) => {
                        assert_eq!(found, records, "{name} at {offset}");
                        harmless += 1;
                    }
                    Err(LogError::Io(error)) => panic!("{name} at {offset}: {error}"),
                    Err(error) => {
                        assert!(error.to_string().contains(".log"), "{error} names no file");
                        errors += 1;
                    }
                }
            }
        }
    }
    assert!(harmless > 0 && errors > records.len() * 3 * 100, "{harmless} harmless, {errors} errors");
}

#[test]
fn a_file_cut_off_anywhere_is_an_error() {
    let (files, _) = small();
    for name in segments(&files) {
        for length in (0..4096).step_by(7) {
            let copy = files.after_kill();
            copy.open(&name).unwrap().set_len(length).unwrap();
            let error = open(&copy, tiny(), Lsn::NONE).err().unwrap_or_else(|| panic!("{name} cut to {length}"));
            assert!(matches!(error, LogError::Truncated { .. }), "{error}");
        }
    }
}

#[test]
fn missing_and_swapped_segments_are_errors() {
    let (files, _) = small();
    let names = segments(&files);
    for name in &names {
        let copy = files.after_kill();
        copy.remove(name).unwrap();
        let error = open(&copy, tiny(), Lsn::NONE).err().unwrap();
        assert!(matches!(error, LogError::MissingSegment { .. }), "{name} removed: {error}");
    }
    for (a, b) in names.iter().zip(&names[1..]) {
        let copy = files.after_kill();
        copy.rename(a, "log/between").unwrap();
        copy.rename(b, a).unwrap();
        copy.rename("log/between", b).unwrap();
        let error = open(&copy, tiny(), Lsn::NONE).err().unwrap();
        assert!(matches!(error, LogError::Misplaced { .. }), "{a} and {b} swapped: {error}");
    }
}

#[test]
fn damage_before_the_last_block_of_an_open_log_is_told_from_a_torn_end() {
    let files = MemoryFiles::new();
    let log = create(&files, tiny());
    let mut appender = log.appender().unwrap();
    for n in 0..3 {
        log.wait(appender.append(&[n; 600]).unwrap()).unwrap();
    }
    // Blocks at sectors 1, 3 and 5.
    for (offset, expected) in [(512 + 100, None), (512 * 3 + 100, None), (512 * 5 + 100, Some(2)), (512 * 7, Some(3))] {
        let copy = files.after_kill();
        copy.open("log/0000000000000000.log").unwrap().write_at(b"damage", offset).unwrap();
        match (open(&copy, tiny(), Lsn::NONE), expected) {
            (Ok((_, records)), Some(expected)) => assert_eq!(records.len(), expected),
            (Err(LogError::Corrupt { offset: at, .. }), None) => assert_eq!(at, offset - 100),
            (other, _) => panic!("damage at {offset}: {:?}", other.err()),
        }
    }
}

#[test]
fn a_header_whose_numbers_cannot_be_is_an_error() {
    let header = Segment { database_id: ID, first_lsn: Lsn::NONE, segment_bytes: 4096, epoch: 1 };
    let positions = [5, 1 << 62, u64::MAX - 7].map(|at| Segment { first_lsn: Lsn(at), ..header });
    let sizes = [0, 512, 4097].map(|segment_bytes| Segment { segment_bytes, ..header });
    for header in positions.into_iter().chain(sizes) {
        let files = MemoryFiles::new();
        let file = files.create(&format!("log/{:016x}.log", header.first_lsn.0)).unwrap();
        file.write_at(&header.encode(), 0).unwrap();
        file.set_len(8192).unwrap();
        let error = open(&files, tiny(), header.first_lsn).err().unwrap();
        assert!(matches!(error, LogError::BadHeader { .. }), "{error}");
    }
}

/// Case 32: a later opening would refuse the segment that a process begins after such a block.
#[test]
fn a_block_that_no_writer_writes_is_damage_before_anything_is_appended() {
    let header = Segment { database_id: ID, first_lsn: Lsn::NONE, segment_bytes: 4096, epoch: 1 };
    let block = |kind, payload: &[u8]| Block {
        kind,
        payload_bytes: payload.len() as u32,
        payload_checksum: crc32c::crc32c(payload),
        database_id: ID,
        first_lsn: Lsn::NONE,
        epoch: 1,
        generation: 0,
    };
    let record_of = |bytes: u32| [&bytes.to_le_bytes()[..], &vec![7; bytes as usize]].concat();
    let open_with = |kind, payload: &[u8]| {
        let files = MemoryFiles::new();
        let file = files.create("log/0000000000000000.log").unwrap();
        file.preallocate(4096).unwrap();
        file.write_at(&header.encode(), 0).unwrap();
        file.write_at(&[&block(kind, payload).encode()[..], payload].concat(), 512).unwrap();
        open(&files, tiny(), Lsn::NONE)
    };
    // Seven sectors follow the header; the last is for the end of the segment.
    let fits = record_of(6 * 512 - 64 - 4);
    assert_eq!(open_with(BlockKind::Records, &fits).unwrap().1.len(), 1);
    let refused = [
        (BlockKind::Records, record_of(6 * 512 - 64 + 4), "leaves no room for the end of the segment"),
        (BlockKind::Records, Vec::new(), "has no records"),
        (BlockKind::Continues, record_of(4), "has a payload"),
        (BlockKind::Closed, record_of(4), "has a payload"),
    ];
    for (kind, payload, why) in refused {
        let error = open_with(kind, &payload).map(drop).unwrap_err();
        assert!(matches!(error, LogError::Corrupt { offset: 512, .. }), "{error}");
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[test]
fn a_log_that_ends_near_the_last_position_is_refused_before_anything_is_appended() {
    let first_lsn = Lsn((1 << 62) - 8);
    let files = MemoryFiles::new();
    let file = files.create(&format!("log/{:016x}.log", first_lsn.0)).unwrap();
    file.preallocate(4096).unwrap();
    file.write_at(&Segment { database_id: ID, first_lsn, segment_bytes: 4096, epoch: 1 }.encode(), 0).unwrap();
    let error = open(&files, tiny(), first_lsn).map(drop).unwrap_err();
    assert!(error.to_string().contains("no log gets as far"), "{error}");
}

#[test]
fn garbage_never_panics() {
    let mut state = 7_u64;
    let (files, _) = small();
    for _ in 0..300 {
        let copy = files.after_kill();
        for name in segments(&files) {
            let file = copy.open(&name).unwrap();
            for _ in 0..4 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = (state >> 33) % 4090;
                file.write_at(&state.to_be_bytes()[..6], at).unwrap();
            }
        }
        let _ = open(&copy, tiny(), Lsn::NONE);
    }
}
