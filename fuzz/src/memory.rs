//! An allocator that counts, and refuses more than a bound. What asks for memory without being ready for a
//! refusal then ends the process, as it would on a machine with so little memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

static LIVE: AtomicUsize = AtomicUsize::new(0);
static BOUND: AtomicUsize = AtomicUsize::new(usize::MAX);

/// From now on, at most so many bytes more than are in use.
pub fn bound(bytes: usize) {
    BOUND.store(LIVE.load(Ordering::Relaxed) + bytes, Ordering::Relaxed);
}

/// The allocator of the system, with a bound.
pub struct Bounded;

impl Bounded {
    fn grant(more: usize, allocate: impl FnOnce() -> *mut u8) -> *mut u8 {
        let live = LIVE.fetch_add(more, Ordering::Relaxed).saturating_add(more);
        let place = if live <= BOUND.load(Ordering::Relaxed) { allocate() } else { std::ptr::null_mut() };
        if place.is_null() {
            LIVE.fetch_sub(more, Ordering::Relaxed);
        }
        place
    }
}

// SAFETY: every call goes to the allocator of the system with the same arguments, or returns null.
unsafe impl GlobalAlloc for Bounded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        Self::grant(layout.size(), || unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        Self::grant(layout.size(), || unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        let moved = Self::grant(size, || unsafe { System.realloc(place, layout, size) });
        if !moved.is_null() {
            LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        }
        moved
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(place, layout) }
    }
}
