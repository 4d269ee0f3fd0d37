"""Texts: topics, and the weights of new documents."""

# %% Counts of words, documents × words.
import klnmf
from sklearn.feature_extraction.text import CountVectorizer

texts = [
    "the cat chased the mouse and the dog watched the cat",
    "a dog and a cat are animals that live with people",
    "the mouse hid from the cat under the house of the dog",
    "stars and planets move through space around the sun",
    "the moon is near and the sun is a star like other stars",
    "space telescopes look at distant planets and stars",
    "the dog barked at the cat and the mouse ran",
    "the planets of the sun include mars and the earth with its moon",
]
vectorizer = CountVectorizer(stop_words="english")
counts = vectorizer.fit_transform(texts)
words = vectorizer.get_feature_names_out()

# %% Two topics. Pseudo-counts give words a probability above 0 in topics without them.
model = klnmf.TopicModel(2, random_state=0).fit(counts)
for topic in model.top_words(5, words):
    print("topic:", ", ".join(topic))
print(f"perplexity {model.perplexity_:.1f}")

# %% A new document with its optimality gap in nats: no other weights are better by more than that.
new = vectorizer.transform(["a cat looked at the stars"])
found = model.weights(new)
print("weights:", found.weights.round(2), "gap:", found.gaps)
