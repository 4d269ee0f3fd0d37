//! Memory for the arrays that every pass reads.

use crate::Scalar;
use std::ops::{Deref, DerefMut};

/// Numbers aligned to a cache line, so that no vector crosses two lines. Large arrays use huge pages where
/// the system grants them: rows of a dictionary that are read in the order of sparse entries then seldom miss
/// the address cache.
#[derive(Default)]
pub struct Aligned<S> {
    room: Vec<S>,
    start: usize,
    len: usize,
}

impl<S: Scalar> Aligned<S> {
    const LINE: usize = 64;

    pub fn zeros(len: usize) -> Self {
        let room = vec![S::ZERO; len + Self::LINE / size_of::<S>()];
        ask_for_huge_pages(&room);
        let start = room.as_ptr().align_offset(Self::LINE).min(Self::LINE / size_of::<S>());
        Self { room, start, len }
    }
}

impl<S> Deref for Aligned<S> {
    type Target = [S];
    fn deref(&self) -> &[S] {
        &self.room[self.start..][..self.len]
    }
}

impl<S> DerefMut for Aligned<S> {
    fn deref_mut(&mut self) -> &mut [S] {
        &mut self.room[self.start..][..self.len]
    }
}

/// Asks Linux to back the pages that lie wholly in an array with huge ones. Small arrays hold none.
#[cfg(target_os = "linux")]
fn ask_for_huge_pages<S>(room: &[S]) {
    const PAGE: usize = 4096;
    const SMALLEST: usize = 4 << 20;
    let (start, bytes) = (room.as_ptr() as usize, size_of_val(room));
    let (first, end) = (start.next_multiple_of(PAGE), (start + bytes) / PAGE * PAGE);
    if bytes >= SMALLEST {
        // Safety: the pages belong to the array. The advice changes no contents, and may be refused.
        unsafe { libc::madvise(first as *mut libc::c_void, end - first, libc::MADV_HUGEPAGE) };
    }
}

/// Elsewhere the system decides.
#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages<S>(_: &[S]) {}
