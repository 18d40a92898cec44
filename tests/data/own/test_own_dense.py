"""A user's own boxes and maps."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dense_trees import class_map, photograph
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from own_trees import write_toml

import unseen
from unseen.cli.ls.own_dataset import show_own_dataset
from unseen.data.core.dense.label_survey import refuse_unscorable, survey_labels
from unseen.data.core.dense.labels import Objects
from unseen.data.core.open_dataset import OpenDataset
from unseen.data.formats.coco import read_coco
from unseen.data.own.dense import label_counts, unusable_labels
from unseen.data.own.description import describe
from unseen.data.own.open_own import open_own
from unseen.errors import UserError
from unseen.studies.inputs.map_labels import label_flaws

COCO: dict[str, Any] = {
    "images": [{"id": 7, "file_name": "a.jpg"}, {"id": 9, "file_name": "b.jpg"}],
    "categories": [{"id": 3, "name": "cup"}, {"id": 1, "name": "fork"}],
    "annotations": [{"image_id": 9, "category_id": 1, "bbox": [1, 2, 10, 5], "iscrowd": 1}],
}


def opened(place: Path) -> OpenDataset:
    return open_own(describe(place))


def coco_folder(root: Path, record: object = COCO) -> Path:
    for number, name in enumerate(("a", "b", "ta", "tb")):
        photograph(root / "images" / f"{name}.jpg", number)
    tests = COCO | {"images": [each | {"file_name": f"t{each['file_name']}"} for each in COCO["images"]]}
    (root / "train.json").write_text(json.dumps(record))
    (root / "test.json").write_text(json.dumps(tests))
    return root


def mask_folder(root: Path, images: str = "images", masks: str = "masks") -> Path:
    for number, split in enumerate(("train", "test")):
        photograph(root / f"{images}/{split}/x.jpg", number)
        class_map(root / f"{masks}/{split}/x.png", np.full((30, 40), number, dtype=np.uint8))
    (root / "classes.txt").write_text("no\nyes\n")
    return root


def test_coco_boxes(tmp_path: Path) -> None:
    found = opened(coco_folder(tmp_path / "cups"))
    assert (found.dataset.name, found.dataset.kind, found.classes) == ("cups", "boxes", ("cup", "fork"))
    assert len(found.labels(0)) == 0
    objects = found.labels(1)
    assert isinstance(objects, Objects)
    assert objects.boxes.tolist() == [[1, 2, 11, 7]]
    assert objects.classes.tolist() == [1]
    assert objects.crowd.tolist() == [True]
    assert [*found.manifest.splits] == ["train", "train", "test", "test"]
    assert label_counts(found) == {"train": {"cup": 0, "fork": 1}, "test": {"cup": 0, "fork": 1}}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"images": None}, "no list 'images'"),
        ({"annotations": [{"image_id": 9}]}, "no 'category_id'"),
        ({"annotations": [{"image_id": 5, "category_id": 1, "bbox": [0, 0, 1, 1]}]}, "none of its 1 annotations"),
        ({"images": [{"id": 9, "file_name": "a.jpg"}, {"id": "9", "file_name": "b.jpg"}]}, "have the id 9"),
        ({"categories": [{"id": 1, "name": "cup"}, {"id": 2, "name": "cup"}]}, "have the name cup"),
        ({"images": [{"id": 9, "file_name": "../b.jpg"}]}, "not an image below"),
        ({"images": [{"id": 9, "file_name": "z.jpg"}]}, r"1 of 3 image files are missing or empty: .*z\.jpg"),
        ({"images": [{"id": 9, "file_name": "ta.jpg"}]}, r"1 test image is in train too: test/ta\.jpg"),
        ({"categories": [{"id": 1, "name": "fork"}]}, "its categories differ"),
        ({"categories": [{"id": [1], "name": "fork"}]}, r"an id in its categories is \[1\]"),
        ({"images": [{"id": {}, "file_name": "a.jpg"}]}, "an id in its images"),
        (
            {"images": [{"id": 0.5, "file_name": "a.jpg"}]},
            "an id in its images is 0.5; expected a whole number or text",
        ),
        ({"images": [{"id": True, "file_name": "a.jpg"}]}, "an id in its images is True"),
        ({"annotations": [{"image_id": 9, "category_id": 1}]}, "none of its annotations has a 'bbox'"),
    ],
)
def test_wrong_coco_files_are_explained(tmp_path: Path, change: dict[str, Any], expected: str) -> None:
    with pytest.raises(UserError, match=expected):
        opened(coco_folder(tmp_path, COCO | change))


@examples(30)
@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["images", "annotations", "categories", "id", "bbox"]), inner)
        ),
    )
)
def test_any_json_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, record: object) -> None:
    place = tmp_path_factory.getbasetemp() / "any.json"
    place.write_text(json.dumps(record))
    with pytest.raises(UserError):
        read_coco({"train": place})


def with_boxes(*changes: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A training file with a good box in each image, and further annotations."""
    good = [{"id": n, "image_id": n, "category_id": 1, "bbox": [1, 2, 10, 5]} for n in (7, 9)]
    return COCO | {"annotations": [*good, *({**good[0], "id": 70 + n} | each for n, each in enumerate(changes))]} | more


def test_ids_may_be_numbers_in_one_list_and_text_in_the_other(tmp_path: Path) -> None:
    further = with_boxes({"image_id": "7", "category_id": "3"}, {"image_id": 9.0, "category_id": 3.0})
    found = opened(coco_folder(tmp_path, further))
    assert label_counts(found)["train"] == {"cup": 2, "fork": 2}
    assert unusable_labels(found) == []


@pytest.mark.parametrize(
    ("mark", "crowd"), [(0, False), ("0", False), (False, False), (None, False), (1, True), ("1", True), (True, True)]
)
def test_crowds_are_marked_by_numbers_or_their_texts(tmp_path: Path, mark: object, crowd: bool) -> None:
    objects = opened(coco_folder(tmp_path, with_boxes({"iscrowd": mark}))).labels(0)
    assert isinstance(objects, Objects)
    assert objects.crowd.tolist() == [False, crowd]


def test_boxes_that_cannot_be_used_are_named_and_the_others_are_used(tmp_path: Path) -> None:
    boxes = [[0, 0, 1], [5, 5, 0, 3], [30, 2, 20, 3], [0, 0, float("nan"), 2], "abcd", None, None]
    record = with_boxes(
        *({"bbox": box} for box in boxes), {"category_id": 5}, {"iscrowd": "no"}, {"image_id": 11}, {"image_id": "x"}
    )
    del record["annotations"][8]["bbox"]  # the same as null
    found = opened(coco_folder(tmp_path, record))
    assert label_counts(found)["train"] == {"cup": 0, "fork": 2}
    survey = survey_labels(found)
    assert [each.id for each in survey.left_out["train"]] == ["train/a.jpg"] * 9
    assert [len(found.unmatched[split]) for split in ("train", "test")] == [2, 0]
    left_out, lost = unusable_labels(found)
    assert left_out.startswith("9 boxes of training images left out: ")
    assert lost.startswith("2 training annotations without an image: the annotation 79 of the image 11")
    # An image without any usable box would pass for one without objects.
    only_bad = opened(coco_folder(tmp_path / "bad", COCO | {"annotations": record["annotations"][1:3]}))
    assert [each.id for each in survey_labels(only_bad).damaged["train"]] == ["train/a.jpg"]
    assert [(flaw.kind, flaw.count, flaw.total) for flaw in label_flaws(found)] == [("unused-labels", 11, 13)]


@pytest.mark.parametrize(
    ("size", "reason"), [((80, 60), "80 × 60"), ((30, 40), "30 × 40"), ((40, 30), ""), ((0, 0), ""), ((None, 30), "")]
)
def test_boxes_of_an_image_of_another_size_are_not_used(
    tmp_path: Path, size: tuple[int | None, int], reason: str
) -> None:
    images = [each | {"width": size[0], "height": size[1]} for each in COCO["images"]]
    found = opened(coco_folder(tmp_path, with_boxes(images=images)))
    said = [each.reason for each in survey_labels(found).damaged.get("train", ())]
    assert len(said) == (2 if reason else 0)
    assert all(reason in each for each in said)


def test_what_cannot_be_trained_or_scored_is_refused_before_anything_runs(tmp_path: Path) -> None:
    nothing = opened(coco_folder(tmp_path / "a", COCO | {"annotations": []}))
    with pytest.raises(UserError, match="no training image has a box"):
        refuse_unscorable(nothing)
    only_crowds = opened(coco_folder(tmp_path / "b", with_boxes()))  # those of the test images
    with pytest.raises(UserError, match="no test image has a box"):
        refuse_unscorable(only_crowds)
    masks = mask_folder(tmp_path / "c")
    refuse_unscorable(opened(masks))
    with pytest.raises(UserError, match="1 training image .* where 2 are needed"):
        refuse_unscorable(opened(masks), training=2)
    class_map(masks / "masks/test/x.png", np.full((30, 40), 255, dtype=np.uint8))
    with pytest.raises(UserError, match="no test image has a pixel with a class"):
        refuse_unscorable(opened(masks))
    class_map(masks / "masks/test/x.png", np.full((30, 40), 77, dtype=np.uint8))
    with pytest.raises(UserError, match="77 is none of the 2"):
        refuse_unscorable(opened(masks))


def test_the_command_names_labels_that_are_not_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = coco_folder(tmp_path / "some", with_boxes({"image_id": 11}))
    (whole / "test.json").write_text((whole / "test.json").read_text().replace('"iscrowd": 1', '"iscrowd": 0'))
    show_own_dataset(whole, as_json=True)
    assert json.loads(capsys.readouterr().out)["damaged"] == [
        "1 training annotation without an image: the annotation 70 of the image 11"
    ]
    masks = mask_folder(tmp_path / "masks")
    class_map(masks / "masks/train/y.png", np.zeros((30, 40), dtype=np.uint8))
    show_own_dataset(masks, as_json=True)
    lost, untrained = json.loads(capsys.readouterr().out)["damaged"]
    assert lost.startswith("1 training map without an image: ")
    assert untrained == "no training image shows yes, which test images show"
    with pytest.raises(UserError, match="no training image has a box"):
        show_own_dataset(coco_folder(tmp_path / "none", COCO | {"annotations": []}), as_json=True)


def test_maps_without_a_labelled_pixel_are_named(tmp_path: Path) -> None:
    masks = mask_folder(tmp_path)
    photograph(masks / "images/train/y.jpg", 3)
    class_map(masks / "masks/train/y.png", np.full((30, 40), 255, dtype=np.uint8))
    class_map(masks / "masks/train/z.png", np.zeros((30, 40), dtype=np.uint8))  # of no image
    found = opened(masks)
    assert [each.id for each in survey_labels(found).left_out["train"]] == ["train/y.jpg"]
    assert [(flaw.kind, flaw.place, flaw.count, flaw.total) for flaw in label_flaws(found)] == [
        ("unused-labels", "training images", 2, 3)
    ]
    assert unusable_labels(found)[0].startswith("1 training map left out: ")


def test_two_images_of_one_map_are_refused(tmp_path: Path) -> None:
    photograph(mask_folder(tmp_path) / "images/train/x.png", 3)
    with pytest.raises(UserError, match=r"x\.jpg and x\.png would have the same map"):
        opened(tmp_path)


def test_mask_folders(tmp_path: Path) -> None:
    found = opened(mask_folder(tmp_path))
    values = found.labels(1)
    assert isinstance(values, np.ndarray)
    assert (values == 1).all()
    assert label_counts(found) == {"train": {"no": 1, "yes": 0}, "test": {"no": 0, "yes": 1}}
    (tmp_path / "masks/test/x.png").unlink()
    with pytest.raises(UserError, match=r"1 of 4 image and map files are missing or empty: .*masks/test/x\.png"):
        opened(tmp_path)
    (tmp_path / "images/train/x.jpg").unlink()
    with pytest.raises(UserError, match="no training and no test images"):
        opened(tmp_path)
    (tmp_path / "images/train").rmdir()
    with pytest.raises(UserError, match=r"\[train\]: .*images/train: no such folder"):
        opened(tmp_path)


TABLES = """
[train]
images = "photos/train"
annotations = "maps/train"
[test]
images = "photos/test"
annotations = "maps/test"
"""


def test_a_file_says_where_masks_are(tmp_path: Path) -> None:
    mask_folder(tmp_path / "deep", "photos", "maps")
    head = 'name = "yards"\ntitle = "Yards"\ntask = "segmentation"\nlicence = "CC0"\n'
    found = opened(write_toml(tmp_path / "deep", f'{head}classes = ["no", "yes"]\n{TABLES}'))
    assert (found.dataset.title, found.dataset.licence, found.classes) == ("Yards", "CC0", ("no", "yes"))
    assert found.manifest.entries[1].id == "test/x.jpg"
    assert (np.asarray(found.labels(1)) == 1).all()
    class_map(tmp_path / "deep/maps/train/x.png", np.ones((30, 40), dtype=np.uint8))
    other = opened(tmp_path / "deep/birds.toml")
    assert found.manifest.content_hash == other.manifest.content_hash  # features are the same, results are not
    assert found.dataset.content != other.dataset.content
    for text, reason in [
        (f"{head}{TABLES}", "the key 'classes' is missing"),
        (f'{head}classes = "classes.txt"\nmetric = "mean-per-class"\n{TABLES}', "metric is for classification only"),
        (f'{head}classes = "classes.txt"\n{TABLES}[val]\nimages = "x"\n', r"\[val\] is for classification only"),
        (f'{head}classes = "classes.txt"\n{TABLES}label = "x"\n', "the key 'label' is not used by the task"),
    ]:
        with pytest.raises(UserError, match=reason):
            opened(write_toml(tmp_path / "deep", text))


def test_depths_and_damaged_maps(tmp_path: Path) -> None:
    mask_folder(tmp_path, "photos", "maps")
    place = write_toml(tmp_path, f'name = "depths"\ntask = "depth"\n{TABLES}')
    found = opened(place)
    assert label_counts(found) == {}
    assert [said.split(":")[0] for said in unusable_labels(found)] == [
        "1 training image with damaged labels",
        "1 test image with damaged labels",
    ]  # those are not of 16 bits


def test_opened_in_python(tmp_path: Path) -> None:
    data = unseen.open_dataset(mask_folder(tmp_path / "yard"))
    assert (data.dataset.name, data.dataset.kind) == ("yard", "classes")
    assert len(unseen.open_dataset("scenes-seen").manifest) == 130
    assert unseen.open_dataset("scenes-seen-boxes").dataset.kind == "boxes"
    with pytest.raises(UserError, match="did you mean scenes-seen"):
        unseen.open_dataset("scenes-see")
