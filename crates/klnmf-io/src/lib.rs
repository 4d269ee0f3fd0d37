//! Readers and writers for klnmf.
