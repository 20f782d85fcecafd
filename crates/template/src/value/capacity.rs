//! How much room Go's decoders leave in a list: they append one element after the other, and memory comes in certain sizes.

/// Bytes of an element of `[]interface {}`.
const ELEMENT: usize = 16;

/// Up to here a list doubles.
const DOUBLES: usize = 256;

/// Above so many bytes an allocation with pointers in it has a head.
const WITHOUT_HEAD: usize = 512;
const HEAD: usize = 8;

/// Above so many bytes memory comes in pages.
const SMALL: usize = 32_768;
const PAGE: usize = 8_192;

/// The sizes of small allocations.
const SIZES: [usize; 67] = [
    8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256, 288, 320, 352, 384, 416,
    448, 480, 512, 576, 640, 704, 768, 896, 1024, 1152, 1280, 1408, 1536, 1792, 2048, 2304, 2688, 3072, 3200,
    3456, 4096, 4864, 5120, 5376, 6144, 6528, 6784, 6912, 8192, 9472, 9728, 10240, 10880, 12288, 13568,
    14336, 16384, 18432, 19072, 20480, 21760, 24576, 27264, 28672,
];

/// The capacity of a decoded list of so many elements.
pub(super) fn decoded(len: usize) -> usize {
    let mut capacity = 0;
    while capacity < len {
        capacity = rounded(grown(capacity)).max(capacity + 1);
    }
    capacity
}

/// What a full list asks for when one more element comes.
fn grown(capacity: usize) -> usize {
    match capacity {
        0 => 1,
        small if small < DOUBLES => small * 2,
        large => large + (large + 3 * DOUBLES) / 4,
    }
}

/// How many elements fit into the memory that it gets for so many.
fn rounded(elements: usize) -> usize {
    let bytes = elements.saturating_mul(ELEMENT);
    if bytes > SMALL - HEAD {
        return bytes.div_ceil(PAGE).saturating_mul(PAGE) / ELEMENT;
    }
    let head = if bytes > WITHOUT_HEAD { HEAD } else { 0 };
    let size = SIZES.iter().find(|size| **size >= bytes + head).copied().unwrap_or(SMALL);
    (size - head) / ELEMENT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_the_capacities_that_go_gives_them() {
        // From each of these lengths on, by a program in Go that decodes lists of JSON.
        let of_go = [
            (0, 0),
            (1, 1),
            (2, 2),
            (3, 4),
            (5, 8),
            (9, 16),
            (17, 32),
            (33, 71),
            (72, 143),
            (144, 303),
            (304, 591),
            (592, 1023),
            (1024, 1535),
            (1536, 2560),
            (2561, 3584),
            (3585, 5120),
            (5121, 6656),
        ];
        for (at, (from, capacity)) in of_go.iter().enumerate() {
            let last = of_go.get(at + 1).map_or(6_000, |(next, _)| next - 1);
            for len in [*from, last] {
                assert_eq!(decoded(len), *capacity, "{len}");
            }
        }
    }
}
