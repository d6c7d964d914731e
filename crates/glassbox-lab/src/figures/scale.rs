//! Axes: round numbers for their marks, and where a value lies.

/// Round values from 0 to at least `most`, about `count` of them.
pub(super) fn marks(most: f64, count: usize) -> Vec<f64> {
    let rough = (most / count as f64).max(f64::MIN_POSITIVE);
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * power).find(|step| *step >= rough * 0.999);
    let step = step.unwrap_or(10.0 * power);
    (0..=(most / step).ceil() as usize).map(|at| at as f64 * step).collect()
}

/// Powers of ten that enclose all positive values: the lowest and the highest exponent.
pub(super) fn decades(values: impl Iterator<Item = f64>) -> (i32, i32) {
    let positive = values.filter(|value| *value > 0.0).map(f64::log10);
    let (low, high) = positive.fold((f64::MAX, f64::MIN), |(low, high), value| (value.min(low), value.max(high)));
    if low > high {
        return (0, 1);
    }
    let low = low.floor() as i32;
    (low, (high.ceil() as i32).max(low + 1))
}

/// A number for an axis: 0, 500, 20k, 1.2M.
pub(super) fn short(value: f64) -> String {
    let trim = |value: f64| {
        let text = format!("{value:.1}");
        text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
    };
    match value {
        v if v >= 1e6 => format!("{}M", trim(v / 1e6)),
        v if v >= 1e3 => format!("{}k", trim(v / 1e3)),
        v if v >= 1.0 || v == 0.0 => trim(v),
        v => format!("{v}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_reach_the_end() {
        assert_eq!(marks(100.0, 5), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(marks(100.000_1, 5)[1], 20.0, "what is a little more than round does not change the step");
        assert_eq!(marks(41_000.0, 5), [0.0, 10_000.0, 20_000.0, 30_000.0, 40_000.0, 50_000.0]);
        assert_eq!(decades([640.0, 46_500.0].into_iter()), (2, 5));
        assert_eq!(decades([100.0].into_iter()), (2, 3));
        assert_eq!([0.0, 12_700.0, 1.2e6, 100.0, 0.01].map(short), ["0", "12.7k", "1.2M", "100", "0.01"]);
    }
}
