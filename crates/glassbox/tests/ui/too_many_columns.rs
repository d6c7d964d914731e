//! More columns than a set of changes has bits.
use glassbox::Record;

#[derive(Record, Clone, Copy)]
#[record(key = c0)]
struct Wide {
    c0: u8, c1: u8, c2: u8, c3: u8, c4: u8, c5: u8, c6: u8, c7: u8,
    c8: u8, c9: u8, c10: u8, c11: u8, c12: u8, c13: u8, c14: u8, c15: u8,
    c16: u8, c17: u8, c18: u8, c19: u8, c20: u8, c21: u8, c22: u8, c23: u8,
    c24: u8, c25: u8, c26: u8, c27: u8, c28: u8, c29: u8, c30: u8, c31: u8,
    c32: u8, c33: u8, c34: u8, c35: u8, c36: u8, c37: u8, c38: u8, c39: u8,
    c40: u8, c41: u8, c42: u8, c43: u8, c44: u8, c45: u8, c46: u8, c47: u8,
    c48: u8, c49: u8, c50: u8, c51: u8, c52: u8, c53: u8, c54: u8, c55: u8,
    c56: u8, c57: u8, c58: u8, c59: u8, c60: u8, c61: u8, c62: u8, c63: u8,
    c64: u8,
}

fn main() {}
