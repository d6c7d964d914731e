//! Checksums made right over whatever the bytes say, by the formats as `docs/formats/` draws them.

use crc32c::{crc32c, crc32c_append};

const SECTOR_BYTES: usize = 512;
const LOG_HEADER_BYTES: usize = 64;

fn put(bytes: &mut [u8], at: usize, number: u32) {
    if let Some(place) = bytes.get_mut(at..at + 4) {
        place.copy_from_slice(&number.to_le_bytes());
    }
}

fn number(bytes: &[u8], at: usize) -> usize {
    let found = bytes.get(at..).and_then(|bytes| bytes.first_chunk());
    found.map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize)
}

/// Seals a file by its name.
pub(super) fn seal(name: &str, bytes: &mut Vec<u8>) {
    match name.split('/').next() {
        Some("manifest") => manifest(bytes),
        Some("checkpoint") => checkpoint(bytes),
        _ => segment(bytes),
    }
}

/// Magic, format, checksum, length; then the content.
pub(super) fn manifest(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().max(24), 0);
    bytes[..8].copy_from_slice(b"GLASSBOX");
    put(bytes, 8, 1);
    let checksum = crc32c(&bytes[24..]);
    put(bytes, 12, checksum);
    let length = bytes.len() as u64 - 24;
    bytes[16..24].copy_from_slice(&length.to_le_bytes());
}

/// A header of 48 bytes; then blocks, each with its length and checksum in front.
pub(super) fn checkpoint(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().max(48), 0);
    bytes[..8].copy_from_slice(b"GBCHECKP");
    put(bytes, 8, 1);
    let checksum = crc32c(&bytes[16..48]);
    put(bytes, 12, checksum);
    let mut at = 48_usize;
    while let Some(end) = at.checked_add(16 + number(bytes, at)).filter(|end| *end <= bytes.len()) {
        let checksum = crc32c_append(crc32c(&bytes[at..at + 4]), &bytes[at + 8..end]);
        put(bytes, at + 4, checksum);
        at = end;
    }
}

/// A header of 64 bytes; then, from the start of any sector, blocks.
pub(super) fn segment(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().max(SECTOR_BYTES), 0);
    let length = bytes.len() as u64;
    bytes[..8].copy_from_slice(b"GLASSLOG");
    put(bytes, 8, 1);
    // As long as the file is.
    bytes[40..48].copy_from_slice(&length.to_le_bytes());
    let checksum = crc32c_append(crc32c(&bytes[..12]), &bytes[16..LOG_HEADER_BYTES]);
    put(bytes, 12, checksum);
    for at in (SECTOR_BYTES..bytes.len()).step_by(SECTOR_BYTES) {
        let payload = at + LOG_HEADER_BYTES;
        let Some(end) = payload.checked_add(number(bytes, at + 12)).filter(|end| *end <= bytes.len()) else { continue };
        if !bytes[at..].starts_with(b"GBLK") {
            continue;
        }
        let of_payload = crc32c(&bytes[payload..end]);
        put(bytes, at + 48, of_payload);
        let of_header = crc32c(&bytes[at + 8..payload]);
        put(bytes, at + 4, of_header);
    }
}

const PAGE_BYTES: usize = super::pages::PAGE_BYTES;
const DOUBLE_IMAGES: usize = 32;

/// The database in page 0; then each page that is not all zeros: its number and its checksum.
pub(super) fn pages(bytes: &mut [u8], database_id: u128) {
    if let Some(place) = bytes.get_mut(40..56) {
        place.copy_from_slice(&database_id.to_le_bytes());
    }
    for (number, page) in bytes.chunks_exact_mut(PAGE_BYTES).enumerate() {
        if page.iter().any(|byte| *byte != 0) {
            seal_page(page, number);
        }
    }
}

fn seal_page(page: &mut [u8], number: usize) {
    put(page, 16, number as u32);
    let checksum = crc32c(&page[4..]);
    put(page, 0, checksum);
}

/// The images, in the header the checksum of each, and that of the header.
pub(super) fn double(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().max(4096), 0);
    bytes[..8].copy_from_slice(b"GBDOUBLE");
    put(bytes, 8, 1);
    put(bytes, 16, PAGE_BYTES as u32);
    let images = (bytes.len() / PAGE_BYTES - 1).min(number(bytes, 20)).min((4096 - DOUBLE_IMAGES) / 8);
    for image in 0..images {
        let entry = DOUBLE_IMAGES + 8 * image;
        let id = number(bytes, entry);
        seal_page(&mut bytes[4096 + image * PAGE_BYTES..][..PAGE_BYTES], id);
        let checksum = number(bytes, 4096 + image * PAGE_BYTES);
        put(bytes, entry + 4, checksum as u32);
    }
    let checksum = crc32c(&bytes[16..4096]);
    put(bytes, 12, checksum);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else the sealed inputs would be refused as the others are, and show nothing.
    #[test]
    fn a_whole_file_is_sealed_already() {
        type Seal = fn(&mut Vec<u8>);
        let seals: [(&str, Seal); 4] =
            [("manifest", manifest), ("checkpoint", checkpoint), ("log", segment), ("double", double)];
        for (target, seal) in seals {
            for whole in super::super::seeds(target) {
                let mut sealed = whole.clone();
                seal(&mut sealed);
                assert!(sealed == whole, "{target}");
            }
        }
    }
}
