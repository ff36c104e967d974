// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys and values as the start-up protocol carries them: a value in pieces, as its lines are short.

/// Characters of a piece: fewer than every server takes.
const PIECE: usize = 960;

/// Longest key.
const KEY: usize = 200;

/// The key of a piece of what a process has put under a key; `None`: the protocol cannot carry the key.
pub fn key(rank: u32, key: &str, piece: usize) -> Option<String> {
    let plain = |c: char| c.is_ascii_graphic() && !"=\\".contains(c);
    let fits = !key.is_empty() && key.len() <= KEY && key.chars().all(plain);
    fits.then(|| format!("pmix.{rank}.{piece}.{key}"))
}

/// Pieces of a value's text. Each but the last ends with a sign that more follow.
pub fn split(text: &str) -> Vec<String> {
    let mut rest = text;
    let mut pieces = Vec::new();
    loop {
        // It has no others than characters of one byte.
        match rest.split_at_checked(PIECE) {
            Some((piece, behind)) if !behind.is_empty() => {
                pieces.push(format!("{piece}+"));
                rest = behind;
            }
            _ => {
                pieces.push(rest.to_owned());
                return pieces;
            }
        }
    }
}

/// A value's text from the pieces that `get` has by number; `None` where one is missing.
pub fn join<E>(
    mut get: impl FnMut(usize) -> Result<Option<String>, E>,
) -> Result<Option<String>, E> {
    let mut text = String::new();
    for number in 0.. {
        let Some(piece) = get(number)? else {
            return Ok(None);
        };
        match piece.strip_suffix('+') {
            Some(piece) => text.push_str(piece),
            None => {
                text.push_str(&piece);
                break;
            }
        }
    }
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x6_values_come_back_from_their_pieces() {
        for length in [0, 1, PIECE - 1, PIECE, PIECE + 1, 5 * PIECE] {
            let text = "a".repeat(length);
            let pieces = split(&text);
            assert!(pieces.iter().all(|piece| piece.len() <= PIECE + 1));
            let all = |number| Ok::<_, ()>(pieces.get(number).cloned());
            assert_eq!(join(all), Ok(Some(text)));
            let but_last = |number| Ok::<_, ()>(pieces[..pieces.len() - 1].get(number).cloned());
            assert_eq!(join(but_last), Ok(None));
        }
    }

    #[test]
    fn x6_keys_that_a_line_cannot_carry_are_none() {
        assert_eq!(key(3, "mtl.ofi", 1).as_deref(), Some("pmix.3.1.mtl.ofi"));
        for wrong in [
            "",
            "a b",
            "a=b",
            "a\\b",
            "a\n",
            "\u{e9}",
            &"a".repeat(KEY + 1),
        ] {
            assert_eq!(key(0, wrong, 0), None, "{wrong}");
        }
    }
}
