"""Who made the datasets of the registry, and under which terms they are given."""

from __future__ import annotations

from typing import NamedTuple


class Origin(NamedTuple):
    """Where a dataset comes from, in words for people; ``hub`` is its name on Hugging Face's hub.

    ``terms`` are as they are commonly given with the data; sffa grants nothing itself.
    """

    title: str
    makers: str
    terms: str
    link: str
    hub: str = ""


DIGITS = Origin(
    "Optical Recognition of Handwritten Digits, its test set, as part of scikit-learn",
    "E. Alpaydin and C. Kaynak, 1998, UCI Machine Learning Repository",
    "CC BY 4.0, as the repository states for its datasets",
    "https://archive.ics.uci.edu/dataset/80/optical+recognition+of+handwritten+digits",
)
MNIST = Origin(
    "MNIST",
    "Y. LeCun, C. Cortes and C. J. C. Burges, from databases of the National Institute of "
    "Standards and Technology (NIST)",
    "commonly distributed under CC BY-SA 3.0",
    "http://yann.lecun.com/exdb/mnist/",
    "ylecun/mnist",
)
FMNIST = Origin(
    "Fashion-MNIST",
    "H. Xiao, K. Rasul and R. Vollgraf, Zalando Research, 2017",
    "MIT",
    "https://github.com/zalandoresearch/fashion-mnist",
    "zalando-datasets/fashion_mnist",
)
KMNIST = Origin(
    "Kuzushiji-MNIST",
    "ROIS-DS Center for Open Data in the Humanities, from the Kuzushiji Dataset of the National "
    "Institute of Japanese Literature; T. Clanuwat et al., 2018",
    "CC BY-SA 4.0",
    "https://codh.rois.ac.jp/kmnist/",
)
EMNIST = Origin(
    "EMNIST Letters",
    "G. Cohen, S. Afshar, J. Tapson and A. van Schaik, 2017, from NIST Special Database 19",
    "no licence stands in its files",
    "https://www.nist.gov/itl/products-and-services/emnist-dataset",
)
CIFAR10 = Origin(
    "CIFAR-10",
    "A. Krizhevsky, V. Nair and G. Hinton, 2009, from 80 Million Tiny Images",
    "no licence is stated; its makers ask to be cited",
    "https://www.cs.toronto.edu/~kriz/cifar.html",
    "uoft-cs/cifar10",
)
