//! Real data, where the environment variable `KLNMF_DATA` names the folder that holds it.

use klnmf_io::read;
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(std::env::var_os("KLNMF_DATA").expect("KLNMF_DATA names the folder of the real data"))
}

#[test]
#[ignore = "needs the folder of real data, KLNMF_DATA"]
fn shapes_and_sums() {
    let folder = folder();
    for (name, shape, sum) in [
        ("text/newsgroups.npz", (18774, 55911), 4_547_389.0),
        ("text/reuters.npz", (395, 4258), 84_010.0),
        ("mutations/brca560.npy", (96, 560), 3_479_652.0),
        ("faces/cbcl_raw_uint8.npy", (361, 2429), 111_458_493.0),
    ] {
        let matrix = read::<f64>(&folder.join(name)).unwrap().matrix;
        assert_eq!((matrix.rows(), matrix.cols()), shape, "{name}");
        assert_eq!(matrix.view().sum(), sum, "{name}");
        matrix.view().check().unwrap();
    }
}
