// SPDX-License-Identifier: MIT OR Apache-2.0
//! The software words of puts and gets, which identify a packet that a node refuses.

/// Numbers of puts count modulo this: one less than the field could hold, so that words of different contexts are never
/// consecutive.
const PUTS: u32 = (1 << 20) - 1;

/// The number of a put at its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PutNumber {
    /// Counts puts that are synchronised, and fences.
    number: u32,
    /// Left to fences: such puts have the number of the last counted put or fence before them.
    plain: bool,
}

impl PutNumber {
    /// Number `number`, modulo the count of numbers.
    pub fn synchronised(number: u32) -> Self {
        Self {
            number: number % PUTS,
            plain: false,
        }
    }

    /// The number of a put behind this one that is left to fences.
    pub fn plain(self) -> Self {
        Self {
            plain: true,
            ..self
        }
    }

    /// The number alone.
    pub fn get(self) -> u32 {
        self.number
    }

    pub fn next(self) -> Self {
        Self::synchronised(self.number + 1)
    }

    /// Whether it is not later than the fence or put `other`.
    pub fn covered_by(self, other: u32) -> bool {
        (other % PUTS + PUTS - self.number) % PUTS < PUTS / 2
    }
}

/// The software word of a put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PutWord {
    /// Reception FIFO of the origin's context, which identifies it on its node.
    pub origin: u16,
    /// Reception FIFO of the target's context.
    pub target: u16,
    pub put: PutNumber,
}

impl PutWord {
    /// Bit that separates it from the word of a get.
    const MARK: u32 = 1 << 29;

    pub fn pack(self) -> u32 {
        Self::MARK
            | fifo_bits(self.origin) << 25
            | fifo_bits(self.target) << 21
            | u32::from(self.put.plain) << 20
            | self.put.number
    }

    pub fn unpack(word: u32) -> Option<Self> {
        (word & Self::MARK != 0).then_some(Self {
            origin: (word >> 25 & 0xf) as u16,
            target: (word >> 21 & 0xf) as u16,
            put: PutNumber {
                number: word & 0xf_ffff,
                plain: word >> 20 & 1 != 0,
            },
        })
    }
}

/// The software word of a get: of the request, and of the put that answers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GetWord {
    /// Reception FIFO of the requester's context.
    pub requester: u16,
    /// Number of the get there, below [`GetWord::NUMBERS`].
    pub number: u32,
}

impl GetWord {
    /// Numbers of gets count modulo this: as with puts, one less than the field could hold.
    pub const NUMBERS: u32 = (1 << 25) - 1;

    pub fn pack(self) -> u32 {
        fifo_bits(self.requester) << 25 | self.number
    }

    pub fn unpack(word: u32) -> Option<Self> {
        (word & PutWord::MARK == 0).then_some(Self {
            requester: (word >> 25 & 0xf) as u16,
            number: word & 0x1ff_ffff,
        })
    }
}

/// A node has 16 reception FIFOs.
fn fifo_bits(fifo: u16) -> u32 {
    u32::from(fifo) & 0xf
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x5_the_word_of_a_put_names_its_contexts_and_number() {
        for plain in [false, true] {
            let word = PutWord {
                origin: 0xa,
                target: 0x5,
                put: PutNumber {
                    number: 0xf_fffe,
                    plain,
                },
            };
            assert_eq!(PutWord::unpack(word.pack()), Some(word));
            assert_eq!(GetWord::unpack(word.pack()), None);
        }
    }

    #[test]
    fn x5_the_word_of_a_get_names_its_requester_and_number() {
        let word = GetWord {
            requester: 0xf,
            number: GetWord::NUMBERS - 1,
        };
        assert_eq!(word.pack(), 0x1fff_fffe);
        assert_eq!(GetWord::unpack(word.pack()), Some(word));
        assert_eq!(PutWord::unpack(word.pack()), None);
    }

    #[test]
    fn x5_numbers_are_compared_across_the_wrap() {
        let put = PutNumber::synchronised;
        assert_eq!(put(PUTS - 1).next(), put(0));
        assert_eq!(put(PUTS), put(0));
        assert!(put(7).covered_by(7) && put(7).covered_by(8) && !put(8).covered_by(7));
        assert!(put(PUTS - 1).covered_by(0) && !put(0).covered_by(PUTS - 1));
    }
}
