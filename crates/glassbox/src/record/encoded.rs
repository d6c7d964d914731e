//! Encoded keys: one integer when a key has at most 8 or 16 bytes, a byte string otherwise.
//!
//! An index compares keys far more often than it builds them. A key of several columns compares column by column, with
//! a branch at each; its order-preserving encoding compares at once. Where the encoding fits a `u64` or a `u128` that
//! is one or two instructions, and which of the three it is, is known when the program is compiled: [`EncodedFor`] maps
//! the width that a derive has summed to the type. Keys wider than [`KeyWidth`] covers are refused when the record is
//! compiled.

use std::fmt::Debug;
use std::hash::Hash;

/// The order-preserving encoding of a key: compares as the key's columns do.
pub trait EncodedKey: Copy + Ord + Eq + Hash + Debug + Send + Sync + 'static {
    /// The smallest encoding.
    const ZERO: Self;
    /// Bytes this type can hold; a shorter key uses the low-order ones.
    const CAPACITY: usize;

    /// Appends the low `width` bytes of `value` after `written` bytes.
    fn push_uint(&mut self, written: usize, value: u64, width: usize);
    /// Appends bytes after `written` bytes.
    fn push_bytes(&mut self, written: usize, bytes: &[u8]);
    /// Appends `width` bytes of value `fill` after `written` bytes.
    fn push_fill(&mut self, written: usize, fill: u8, width: usize);
    /// The next smaller encoding, or `None` at the smallest.
    fn predecessor(self) -> Option<Self>;
    /// 64 bits that spread well: the input of hash indexes.
    fn hash64(&self) -> u64;
    /// A hash of the key without its low `bits`, which are fewer than 64, for few places: its highest bits count. Of a
    /// byte string, 0.
    fn hash_without(&self, bits: u32) -> u64;
    /// Gives `use_bytes` the key's bytes, most significant first, the last `width` of them.
    fn for_bytes<O>(&self, width: usize, use_bytes: impl FnOnce(&[u8]) -> O) -> O;
    /// The opposite of [`EncodedKey::for_bytes`].
    fn from_bytes(bytes: &[u8]) -> Self;
    /// The opposite of [`EncodedKey::as_u64`].
    ///
    /// # Panics
    /// Where `as_u64` gives `None`.
    fn from_small(key: u64) -> Self;
    /// The encoding as an integer where it is one of at most 8 bytes.
    fn as_u64(&self) -> Option<u64>;
}

/// Mixes 64 bits: a multiplication by an odd constant folded onto itself (the folded multiply of wyhash).
#[inline(always)]
pub(crate) fn mix(value: u64) -> u64 {
    let product = u128::from(value ^ 0x9e37_79b9_7f4a_7c15) * 0xa076_1d64_78bd_642f_u128;
    (product as u64) ^ ((product >> 64) as u64)
}

/// A digest of bytes and of the digest before them.
pub(crate) fn digest(before: u64, bytes: &[u8]) -> u64 {
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    };
    bytes.chunks(8).fold(mix(before ^ bytes.len() as u64), |sum, chunk| mix(sum ^ word(chunk)))
}

/// The multiplier, of some ten thousand tried, with the fewest collisions of keys that are small numbers side by side.
const SPREAD: u64 = 0xb827_a3f3_82e8_fc91;

macro_rules! integer_encoding {
    ($type:ty, $as_u64:expr, $hash:expr) => {
        impl EncodedKey for $type {
            const ZERO: Self = 0;
            const CAPACITY: usize = size_of::<$type>();

            #[inline(always)]
            fn push_uint(&mut self, _written: usize, value: u64, width: usize) {
                // A shift by the whole width would overflow; nothing was written before in that case.
                let kept = if width == Self::CAPACITY { 0 } else { *self << (8 * width) };
                *self = kept | value as $type;
            }

            #[inline(always)]
            fn push_bytes(&mut self, written: usize, bytes: &[u8]) {
                for &byte in bytes {
                    self.push_uint(written, u64::from(byte), 1);
                }
            }

            #[inline(always)]
            fn push_fill(&mut self, _written: usize, fill: u8, width: usize) {
                if width == 0 {
                    return;
                }
                let kept = if width == Self::CAPACITY { 0 } else { *self << (8 * width) };
                let ones = <$type>::MAX >> (8 * (Self::CAPACITY - width));
                *self = kept | (if fill == 0 { 0 } else { ones });
            }

            #[inline(always)]
            fn predecessor(self) -> Option<Self> {
                self.checked_sub(1)
            }

            #[inline(always)]
            fn hash64(&self) -> u64 {
                #[allow(clippy::redundant_closure_call)]
                ($hash)(*self)
            }

            #[inline(always)]
            fn hash_without(&self, bits: u32) -> u64 {
                ((*self >> bits) as u64).wrapping_mul(SPREAD)
            }

            #[inline(always)]
            fn for_bytes<O>(&self, width: usize, use_bytes: impl FnOnce(&[u8]) -> O) -> O {
                use_bytes(&self.to_be_bytes()[Self::CAPACITY - width..])
            }

            fn from_bytes(bytes: &[u8]) -> Self {
                bytes.iter().fold(0, |key, &byte| (key << 8) | <$type>::from(byte))
            }

            #[inline(always)]
            fn from_small(key: u64) -> Self {
                Self::from(key)
            }

            #[inline(always)]
            fn as_u64(&self) -> Option<u64> {
                #[allow(clippy::redundant_closure_call)]
                ($as_u64)(*self)
            }
        }
    };
}

integer_encoding!(u64, |key: u64| Some(key), mix);
integer_encoding!(u128, |_: u128| None, |key: u128| mix(mix(key as u64) ^ (key >> 64) as u64));

impl<const N: usize> EncodedKey for [u8; N] {
    const ZERO: Self = [0; N];
    const CAPACITY: usize = N;

    #[inline(always)]
    fn push_uint(&mut self, written: usize, value: u64, width: usize) {
        self[written..written + width].copy_from_slice(&value.to_be_bytes()[8 - width..]);
    }

    #[inline(always)]
    fn push_bytes(&mut self, written: usize, bytes: &[u8]) {
        self[written..written + bytes.len()].copy_from_slice(bytes);
    }

    #[inline(always)]
    fn push_fill(&mut self, written: usize, fill: u8, width: usize) {
        self[written..written + width].fill(fill);
    }

    fn predecessor(mut self) -> Option<Self> {
        for byte in self.iter_mut().rev() {
            let (less, borrow) = byte.overflowing_sub(1);
            *byte = less;
            if !borrow {
                return Some(self);
            }
        }
        None
    }

    fn hash64(&self) -> u64 {
        let mut hash = N as u64;
        for part in self.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            hash = mix(hash ^ u64::from_le_bytes(word));
        }
        hash
    }

    #[inline(always)]
    fn hash_without(&self, _bits: u32) -> u64 {
        0
    }

    #[inline(always)]
    fn for_bytes<O>(&self, width: usize, use_bytes: impl FnOnce(&[u8]) -> O) -> O {
        use_bytes(&self[N - width..])
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        let mut key = [0; N];
        key.copy_from_slice(bytes);
        key
    }

    fn from_small(_key: u64) -> Self {
        unreachable!("a byte string is never given as an integer")
    }

    #[inline(always)]
    fn as_u64(&self) -> Option<u64> {
        None
    }
}

/// Builds an encoded key column by column.
#[derive(Debug, Clone, Copy)]
pub struct KeyWriter<E> {
    key: E,
    written: usize,
}

impl<E: EncodedKey> Default for KeyWriter<E> {
    fn default() -> Self {
        Self { key: E::ZERO, written: 0 }
    }
}

impl<E: EncodedKey> KeyWriter<E> {
    /// Appends the low `width` bytes of `value`, most significant first.
    #[inline(always)]
    pub fn push_uint(&mut self, value: u64, width: usize) {
        self.key.push_uint(self.written, value, width);
        self.written += width;
    }

    /// Appends bytes.
    #[inline(always)]
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        self.key.push_bytes(self.written, bytes);
        self.written += bytes.len();
    }

    /// Appends `width` zero bytes.
    #[inline(always)]
    pub fn push_zeros(&mut self, width: usize) {
        self.key.push_fill(self.written, 0, width);
        self.written += width;
    }

    /// The key, its missing bytes up to `width` filled with `fill`: 0 for the smallest key with this prefix, 255 for
    /// the largest.
    #[inline(always)]
    pub fn finish(mut self, fill: u8, width: usize) -> E {
        self.key.push_fill(self.written, fill, width - self.written);
        self.key
    }
}

/// A key width in bytes, as a type, so that it can choose a type: see [`EncodedFor`].
pub struct KeyWidth<const N: usize>;

/// Chooses how a key of a given width is encoded.
#[diagnostic::on_unimplemented(
    message = "a key has 1 to 512 bytes; this one has the width `{Self}`",
    label = "this key",
    note = "the width of a key is the sum of its columns' widths, and one byte more for each Option"
)]
pub trait EncodedFor {
    /// `u64` up to 8 bytes, `u128` up to 16, else a byte string.
    type Key: EncodedKey;
}

macro_rules! encoded_for {
    ($key:ty: $($width:literal)*) => {
        $(impl EncodedFor for KeyWidth<$width> { type Key = $key; })*
    };
    ($($width:literal)*) => {
        $(impl EncodedFor for KeyWidth<$width> { type Key = [u8; $width]; })*
    };
}

encoded_for!(u64: 1 2 3 4 5 6 7 8);
encoded_for!(u128: 9 10 11 12 13 14 15 16);
encoded_for! {
    17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48
    49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80
    81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107 108 109
    110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127 128 129 130 131 132 133
    134 135 136 137 138 139 140 141 142 143 144 145 146 147 148 149 150 151 152 153 154 155 156 157
    158 159 160 161 162 163 164 165 166 167 168 169 170 171 172 173 174 175 176 177 178 179 180 181
    182 183 184 185 186 187 188 189 190 191 192 193 194 195 196 197 198 199 200 201 202 203 204 205
    206 207 208 209 210 211 212 213 214 215 216 217 218 219 220 221 222 223 224 225 226 227 228 229
    230 231 232 233 234 235 236 237 238 239 240 241 242 243 244 245 246 247 248 249 250 251 252 253
    254 255 256 257 258 259 260 261 262 263 264 265 266 267 268 269 270 271 272 273 274 275 276 277
    278 279 280 281 282 283 284 285 286 287 288 289 290 291 292 293 294 295 296 297 298 299 300 301
    302 303 304 305 306 307 308 309 310 311 312 313 314 315 316 317 318 319 320 321 322 323 324 325
    326 327 328 329 330 331 332 333 334 335 336 337 338 339 340 341 342 343 344 345 346 347 348 349
    350 351 352 353 354 355 356 357 358 359 360 361 362 363 364 365 366 367 368 369 370 371 372 373
    374 375 376 377 378 379 380 381 382 383 384 385 386 387 388 389 390 391 392 393 394 395 396 397
    398 399 400 401 402 403 404 405 406 407 408 409 410 411 412 413 414 415 416 417 418 419 420 421
    422 423 424 425 426 427 428 429 430 431 432 433 434 435 436 437 438 439 440 441 442 443 444 445
    446 447 448 449 450 451 452 453 454 455 456 457 458 459 460 461 462 463 464 465 466 467 468 469
    470 471 472 473 474 475 476 477 478 479 480 481 482 483 484 485 486 487 488 489 490 491 492 493
    494 495 496 497 498 499 500 501 502 503 504 505 506 507 508 509 510 511 512
}
