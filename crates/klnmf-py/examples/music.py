"""Music: split a spectrogram into notes, and a sound into stems."""

# %% Two notes that overlap. For a file, use `y, sr = librosa.load("song.ogg", sr=None)`.
import klnmf
import librosa
import numpy as np

sr = 11025
time = np.arange(2 * sr) / sr
low = np.sin(2 * np.pi * 220 * time) * (time % 1 < 0.6)
high = np.sin(2 * np.pi * 1320 * time) * (time % 0.7 < 0.3)
y = low + high

# %% librosa's own function with KLNMF.
S = np.abs(librosa.stft(y, n_fft=512))
model = klnmf.KLNMF(n_components=2, random_state=0)
components, activations = librosa.decompose.decompose(S, transformer=model, sort=True)
print("peaks in Hz:", librosa.fft_frequencies(sr=sr, n_fft=512)[components.argmax(axis=0)].round())

# %% Stems that add up to the sound.
stems, W, H = klnmf.separate(y, sr, n_components=2)
print("stems:", stems.shape, "they add up:", np.allclose(stems.sum(axis=0), y))

# %% With a recording of every source alone the problem is convex, and every frame has an optimality gap.
found = klnmf.separate(y, sr, train={"low": low, "high": high}, per_source=2)
print(found.names, found)
