//! The synthetic instruments.

use klnmf_audio::{Sound, Stft, ensemble, training};

fn power(sound: &Sound) -> f64 {
    sound.channels[0].iter().map(|x| x * x).sum::<f64>() / sound.len() as f64
}

/// The share of each bin in the whole power.
fn spectrum(sound: &Sound) -> Vec<f64> {
    let sums = Stft::new(512, 256).unwrap().forward(&sound.mono()).power().row_sums();
    let whole: f64 = sums.iter().sum();
    sums.iter().map(|x| x / whole).collect()
}

#[test]
fn five_different_instruments() {
    let parts = ensemble(4.0, 16000, 1).unwrap();
    let names: Vec<_> = parts.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["piano", "strings", "flute", "bass", "percussion"]);
    let mut mix = vec![0.0; 64000];
    for (name, part) in &parts {
        assert_eq!((part.rate, part.channels.len(), part.len()), (16000, 1, 64000), "{name}");
        assert!(power(part) > 1e-5, "{name} can be heard");
        mix.iter_mut().zip(&part.channels[0]).for_each(|(sum, x)| *sum += x);
    }
    assert!(mix.iter().all(|x| x.abs() < 1.0));
    for (i, (a, part)) in parts.iter().enumerate() {
        for (b, other) in &parts[..i] {
            let common: f64 = spectrum(part).iter().zip(spectrum(other)).map(|(x, y)| x.min(y)).sum();
            assert!(common < 0.8, "{a} and {b} share {common:.2} of their power");
        }
    }
}

#[test]
fn the_seed_decides() {
    assert_eq!(ensemble(1.0, 8000, 3).unwrap(), ensemble(1.0, 8000, 3).unwrap());
    for ((name, a), (_, b)) in ensemble(1.0, 8000, 3).unwrap().iter().zip(&ensemble(1.0, 8000, 4).unwrap()) {
        assert_ne!(a, b, "{name}");
    }
}

#[test]
fn training_is_the_same_instruments_with_other_notes() {
    let (parts, lessons) = (ensemble(3.0, 16000, 5).unwrap(), training(6.0, 16000, 5).unwrap());
    for (i, (name, lesson)) in lessons.iter().enumerate() {
        assert_eq!((*name, lesson.len()), (parts[i].0, 96000));
        // A lesson resembles its own instrument more than any other.
        let own = spectrum(lesson);
        let common =
            |(_, part): &(&str, Sound)| spectrum(part).iter().zip(&own).map(|(x, y)| x.min(*y)).sum::<f64>();
        let nearest = (0..5).max_by(|a, b| common(&parts[*a]).total_cmp(&common(&parts[*b])));
        assert_eq!(nearest, Some(i), "{name}");
    }
}

#[test]
fn impossible_wishes_are_errors() {
    for (seconds, rate) in [(0.0, 16000), (f64::NAN, 16000), (1e9, 16000), (1.0, 0), (1.0, u32::MAX)] {
        let error = ensemble(seconds, rate, 0).unwrap_err().to_string();
        assert!(error.contains(" = ") && !error.contains('\n'), "{error}");
    }
}
