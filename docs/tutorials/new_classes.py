# %% [markdown]
# # A table that meets new classes
#
# `SFFAClassifier` is a scikit-learn classifier with one gift: `partial_fit` takes classes that it
# has never heard of, and keeps the old ones.
#
# ## A table of your own
#
# Any numbers in columns will do. Here is one to begin with, as a CSV file: chemical measurements of
# wines from three cultivars.

# %%
import numpy as np
from sklearn.datasets import load_wine

wine = load_wine(as_frame=False)
names = np.array(["barolo", "grignolino", "barbera"])[wine.target]
header = ",".join([*wine.feature_names, "cultivar"]).replace("/", "_")
rows = np.column_stack([wine.data.astype(str), names])
np.savetxt("wine.csv", rows, fmt="%s", delimiter=",", header=header, comments="")

# %%
table = np.genfromtxt("wine.csv", delimiter=",", dtype=str, skip_header=1)
X, y = table[:, :-1].astype(float), table[:, -1]
print(X.shape, np.unique(y))

# %%
from sklearn.model_selection import train_test_split

X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

# %% [markdown]
# ## Like any classifier
#
# Nothing has to be prepared: columns are standardised inside, labels may be words.

# %%
import sffa

clf = sffa.SFFAClassifier(random_state=0).fit(X_train, y_train)
print(f"{clf.score(X_test, y_test):.2f}", clf.predict(X_test[:4]))

# %%
print(clf.classes_, clf.predict_proba(X_test[:2]).round(3))

# %% [markdown]
# It stands in pipelines, cross-validation and grid search like any other.

# %%
from sklearn.model_selection import cross_val_score

print(cross_val_score(sffa.SFFAClassifier(random_state=0), X, y, cv=3).round(2))

# %% [markdown]
# ## A class it has never heard of
#
# Monday's table knows two cultivars. On Tuesday there is only the third: the rows of Monday are
# gone. Most classifiers would have to begin again, from data that nobody has any more.

# %%
monday = y_train != "barbera"
clf = sffa.SFFAClassifier(random_state=0)
clf.partial_fit(X_train[monday], y_train[monday])
print("Monday: ", clf.classes_)

clf.partial_fit(X_train[~monday], y_train[~monday])
print("Tuesday:", clf.classes_, f"{clf.score(X_test, y_test):.2f} on all three")

# %% [markdown]
# Without protection Tuesday overwrites part of Monday:

# %%
forgetful = sffa.SFFAClassifier(continual=None, random_state=0)
forgetful.partial_fit(X_train[monday], y_train[monday])
forgetful.partial_fit(X_train[~monday], y_train[~monday])
print(f"{forgetful.score(X_test, y_test):.2f}")

# %% [markdown]
# What keeps the old classes, and what else can be chosen: [scikit-learn](../integrations/sklearn.md).
#
# Next: [your own strategy](own_strategy.md).
