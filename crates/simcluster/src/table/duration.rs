//! Ages as people read them: `5s`, `3m12s`, `2d`.

use jiff::Timestamp;

/// How long ago an API timestamp was.
pub fn age(timestamp: &str) -> String {
    let Ok(then) = timestamp.parse::<Timestamp>() else { return "<unknown>".into() };
    human(Timestamp::now().as_second() - then.as_second())
}

/// A number of seconds, in two units while the first is small.
pub fn human(seconds: i64) -> String {
    let with = |large: i64, unit: &str, small: i64, small_unit: &str| {
        if small == 0 { format!("{large}{unit}") } else { format!("{large}{unit}{small}{small_unit}") }
    };
    let (minutes, hours, days, years) =
        (seconds / 60, seconds / 3_600, seconds / 86_400, seconds / 31_536_000);
    match seconds {
        ..-1 => "<invalid>".into(),
        -1..=0 => "0s".into(),
        1..120 => format!("{seconds}s"),
        120..600 => with(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => with(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => with(days, "d", hours % 24, "h"),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => with(years, "y", days % 365, "d"),
        _ => format!("{years}y"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_read_as_kubectl_prints_them() {
        let cases = [
            (-5, "<invalid>"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (192, "3m12s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_860, "3h1m"),
            (36_000, "10h"),
            (176_400, "2d1h"),
            (864_000, "10d"),
            (63_158_400, "2y1d"),
        ];
        for (seconds, text) in cases {
            assert_eq!(human(seconds), text);
        }
    }
}
