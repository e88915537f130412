"""Tables, .npy files and folders of images of any size become datasets, or are refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sffa.data import Reference, from_table, load, table_features
from sffa.errors import ConfigurationError, DataError, SFFAWarning


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def rows(separator: str = ",") -> str:
    lines = [["length", "colour", "kind", "count"]]
    for number in range(30):
        colour = ("red", "green", "blue")[number % 3]
        lines.append([f"{number / 7:.3f}", colour, ("cat", "dog")[number % 2], str(number)])
    return "\n".join(separator.join(line) for line in lines) + "\n"


@pytest.mark.parametrize(("name", "separator"), [("t.csv", ","), ("t.csv", ";"), ("t.tsv", "\t")])
def test_numbers_are_features_and_few_texts_are_categories(
    name: str, separator: str, tmp_path: Path
) -> None:
    data = load(write(tmp_path / name, rows(separator)), target="kind")
    assert data.class_names == ("cat", "dog")
    assert data.features == 1 + 3 + 1
    assert len(data.train) + len(data.test) == 30
    one_hot = data.train.flat[:, 1:4]
    assert (one_hot.sum(axis=1) == 1).all()


def test_a_later_table_becomes_the_features_of_the_first(tmp_path: Path) -> None:
    data = from_table(write(tmp_path / "t.csv", rows()), "kind")
    assert data.columns == (("length", None), ("colour", ("blue", "green", "red")), ("count", None))
    later = write(tmp_path / "later.csv", "count,note,colour,length\n7,x,red,1.5\n8,y,blue,2.5\n")
    assert table_features(later, data.columns).tolist() == [[1.5, 0, 0, 1, 7], [2.5, 1, 0, 0, 8]]


def test_categories_that_look_like_numbers_stay_categories(tmp_path: Path) -> None:
    columns = (("grade", ("1", "2", "x")),)
    later = write(tmp_path / "later.csv", "grade,y\n2,u\n1,v\n")
    assert table_features(later, columns).tolist() == [[0, 1, 0], [1, 0, 0]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("length,colour\n1,pink\n", "column 'colour' holds 'pink', expected one of blue, green"),
        ("length,color\n1,red\n", "no column 'colour'; did you mean 'color'"),
        ("length,colour\nlong,red\n", r"column 'length' holds text \('long'\), expected numbers"),
        ("length,colour\n,red\n", "column 'length' has 1 missing values"),
    ],
)
def test_a_later_table_that_does_not_fit_is_refused_by_its_column(
    text: str, words: str, tmp_path: Path
) -> None:
    columns = (("length", None), ("colour", ("blue", "green", "red")))
    with pytest.raises(DataError, match=words):
        table_features(write(tmp_path / "later.csv", text), columns)


def test_parquet_reads_as_the_same_table(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="the extra tables is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    lines = [line.split(",") for line in rows().splitlines()[1:]]
    length, colour, kind, count = zip(*lines, strict=True)
    table = arrow.table(
        {
            "length": [float(value) for value in length],
            "colour": arrow.array(colour).dictionary_encode(),
            "kind": kind,
            "count": [int(value) for value in count],
        }
    )
    parquet.write_table(table, tmp_path / "t.parquet")
    found = from_table(tmp_path / "t.parquet", "kind")
    wanted = from_table(write(tmp_path / "t.csv", rows()), "kind")
    assert np.allclose(found.train.x, wanted.train.x)
    assert (found.train.y == wanted.train.y).all()
    dated = table.append_column("when", arrow.array([0] * 30, arrow.timestamp("s")))
    parquet.write_table(dated, tmp_path / "t.parquet")
    with pytest.raises(DataError, match="column 'when' holds dates or times"):
        from_table(tmp_path / "t.parquet", "kind")
    (tmp_path / "t.parquet").write_bytes(b"PAR1 no PAR1")
    with pytest.raises(DataError, match="not a sound Parquet file"):
        from_table(tmp_path / "t.parquet", "kind")


REFUSED = {
    "a,b,y\n1,2,u\n1,,v\n": "column 'b' has 1 missing values, first in row 1",
    "a,b,y\n1,2,u\n1,NA,v\n": "column 'b' has 1 missing",
    "a,b,y\n1,2,u\n1,2,\n": "column 'y' has 1 missing",
    "a,b,y\n1,2020-01-02,u\n1,2020-01-03,v\n": "column 'b' holds dates",
    "a,b,y\n1,1e300,u\n1,2,v\n": "column 'b' holds 1e\\+300, more than numbers of 32 bits",
    "a,b,y\n" + "".join(f"1,t{n},u\n" for n in range(60)): "60 different texts",
    "a,b,y\n1,2,u\n1,2\n": "row 1 has 2 cells, expected 3",
    "a,a,y\n1,2,u\n": "two columns are called 'a'",
    "1,2,3\n1,2,3\n": "first line must name the columns",
    "a,b,y\n": "no rows below",
    "": "0 columns",
    "a,b,z\n1,2,3\n": "no column 'y'",
    "y\n1\n": "no column beside 'y'",
    'a,y\n"1,2\n': "not a table as CSV",
    "a,b,y\n1,inf,u\n1,2,v\n" * 2: "row|texts|missing|example|few",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_usable_table_is_one_line_that_names_it(text: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=REFUSED[text]) as caught:
        from_table(write(tmp_path / "t.csv", text), "y")
    assert "\n" not in str(caught.value)


def test_a_table_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a,y\n\xff\xfe1,2\n")
    with pytest.raises(DataError, match="not a table as CSV in UTF-8"):
        from_table(tmp_path / "t.csv", "y")


def test_a_file_needs_a_target_and_a_folder_has_none(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", rows())
    with pytest.raises(DataError, match="which column holds the labels"):
        load(path)
    with pytest.raises(DataError, match="did you mean 'kind'"):
        load(path, target="knd")
    with pytest.raises(DataError, match="are for folders of images"):
        load(path, target="kind", size=(8, 8))
    with pytest.raises(DataError, match="a folder has no column"):
        load(tmp_path, target="kind")


def test_a_reference_says_how_to_read(tmp_path: Path) -> None:
    write(tmp_path / "t.csv", rows())
    told = str(Reference(str(tmp_path / "t.csv"), target="kind"))
    assert load(told).class_names == ("cat", "dog")
    assert Reference.parsed(told).target == "kind"
    write(tmp_path / "odd#target=kind", "")
    assert Reference.parsed(str(tmp_path / "odd#target=kind")).target is None
    with pytest.raises(ConfigurationError, match="did you mean 'target'"):
        load(f"{tmp_path}/t.csv#taget=kind")
    with pytest.raises(ConfigurationError, match="a size looks like"):
        load(f"{tmp_path}#size=big")


def test_an_npy_file_is_mapped_and_its_labels_are_a_column_or_a_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 3)).astype(np.float32), np.arange(40) % 2
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    np.save(tmp_path / "both.npy", np.column_stack([x, y]))
    apart, together = (
        load(tmp_path / "x.npy", target="y.npy"),
        load(tmp_path / "both.npy", target="-1"),
    )
    assert (apart.train.x == together.train.x).all()
    assert (apart.train.y == together.train.y).all()
    with pytest.raises(DataError, match="no column 9"):
        load(tmp_path / "both.npy", target="9")
    with pytest.raises(DataError, match="cannot be read"):
        load(tmp_path / "both.npy", target="none.npy")


def picture(path: Path, size: tuple[int, int], value: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", size, value).save(path)


def test_images_of_any_size_are_brought_to_one_and_unreadable_ones_left_out(tmp_path: Path) -> None:
    for number in range(6):
        for name, value in (("dark", 20), ("light", 200)):
            picture(tmp_path / name / f"{number}.png", (8 + number, 9), value + number)
    (tmp_path / "dark" / "bad.png").write_bytes(b"no image")
    with pytest.raises(DataError, match="not an image"):
        load(tmp_path, size=(4, 5))
    with pytest.warns(SFFAWarning, match=r"1 of 13 images cannot be read.*bad\.png"):
        data = load(tmp_path, size=(4, 5), skip_unreadable=True)
    assert data.shape == (5, 4)
    (tmp_path / "dark" / "bad.png").unlink()
    with pytest.raises(DataError, match="give one with --size"):
        load(tmp_path)
    assert load(f"{tmp_path}#size=4x5").shape == (5, 4)


def test_train_takes_a_table_and_evaluate_reads_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    from sffa.cli.evaluate import evaluate
    from sffa.cli.train import train

    monkeypatch.chdir(tmp_path)
    write(tmp_path / "t.csv", rows())
    train(
        dataset="t.csv",
        target="kind",
        epochs=1,
        hidden="40",
        out=tmp_path / "models" / "m.safetensors",
        backend="torch",
    )
    evaluate(tmp_path / "models" / "m.safetensors", as_json=True)
    assert '"examples": 6' in capsys.readouterr().out
