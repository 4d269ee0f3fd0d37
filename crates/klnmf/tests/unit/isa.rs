use super::*;

#[test]
fn levels_are_found_by_name() {
    for isa in Isa::all() {
        let found = Isa::named(isa.name()).map(Isa::vector_bytes);
        assert_eq!(found, Ok(isa.vector_bytes()));
    }
    let message = Isa::named("sse").map(Isa::name).unwrap_err().to_string();
    assert_eq!(message, "KLNMF_LEVEL = sse: must be plain, avx2 or avx512");
}
