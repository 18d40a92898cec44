"""ONNX files, built node by node."""

import hashlib
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from unseen.backbones.graph_process import GraphProcess
from unseen.backbones.load import load_backbone
from unseen.backbones.patches import PatchSpec
from unseen.errors import UserError

onnx = pytest.importorskip("onnx", reason="ONNX files")
pytest.importorskip("onnxruntime", reason="runs ONNX files")


def reference() -> nn.Sequential:
    torch.manual_seed(2)
    return nn.Sequential(nn.Conv2d(3, 5, 4, 4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(5, 7))


def write(path: Path, shape: tuple[Any, ...] = ("batch", 3, 16, 16), element: int = 1) -> Path:
    """The network of `reference` as a graph: conv → map → mean → features → logits."""
    conv, linear = reference()[0], reference()[4]
    dtype = {1: np.float32, 10: np.float16, 2: np.uint8}[element]
    tensors = {"cw": conv.weight, "cb": conv.bias, "lw": linear.weight, "lb": linear.bias}
    helper = onnx.helper
    nodes = [
        helper.make_node("Conv", ["images", "cw", "cb"], ["conv"], kernel_shape=[4, 4], strides=[4, 4]),
        helper.make_node("Relu", ["conv"], ["map"]),
        helper.make_node("GlobalAveragePool", ["map"], ["mean"]),
        helper.make_node("Flatten", ["mean"], ["features"]),
        helper.make_node("Gemm", ["features", "lw", "lb"], ["logits"], transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("images", element, shape)],
        [helper.make_tensor_value_info("logits", element, (shape[0], 7))],
        [onnx.numpy_helper.from_array(tensor.detach().numpy().astype(dtype), name) for name, tensor in tensors.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(path))
    return path


def images(count: int, size: int = 16) -> Tensor:
    return torch.randn(count, 3, size, size, generator=torch.Generator().manual_seed(1))


def test_output_of_the_file(tmp_path: Path) -> None:
    backbone = load_backbone(f"onnx:{write(tmp_path / 'm.onnx')}")
    spec = backbone.spec
    assert (spec.dimension, spec.layer, spec.pool, spec.transform.size) == (7, "output", "none", 16)
    assert spec.parameters == sum(parameter.numel() for parameter in reference().parameters())
    torch.testing.assert_close(backbone(images(3)), reference()(images(3)).detach())


def test_any_tensor_of_the_graph(tmp_path: Path) -> None:
    name = f"onnx:{write(tmp_path / 'm.onnx')}"
    features = load_backbone(name, layer="features")
    assert (features.spec.dimension, features.spec.parameters) == (5, 5 * 3 * 16 + 5)  # without the classifier
    torch.testing.assert_close(features(images(3)), reference()[:4](images(3)).detach())
    pooled = load_backbone(name, layer="map")
    assert (pooled.spec.layer, pooled.spec.pool) == ("map", "avg")
    torch.testing.assert_close(pooled(images(3)), features(images(3)))
    with pytest.raises(UserError, match="no tensor feature; did you mean features"):
        load_backbone(name, layer="feature")
    with pytest.raises(UserError, match="has no class token"):
        load_backbone(name, layer="map", pool="cls")


@pytest.mark.parametrize("count", [1, 4, 6, 9])
def test_fixed_batches_are_filled_up(tmp_path: Path, count: int) -> None:
    backbone = load_backbone(f"onnx:{write(tmp_path / 'm.onnx', (4, 3, 16, 16))}")
    torch.testing.assert_close(backbone(images(count)), reference()(images(count)).detach())


def test_half_precision(tmp_path: Path) -> None:
    backbone = load_backbone(f"onnx:{write(tmp_path / 'm.onnx', element=10)}")
    torch.testing.assert_close(backbone(images(3)), reference()(images(3)).detach(), rtol=1e-2, atol=1e-2)


def test_size_where_the_graph_leaves_it_open(tmp_path: Path) -> None:
    name = f"onnx:{write(tmp_path / 'm.onnx', ('b', 3, None, None))}"
    assert load_backbone(name).spec.transform.size == 224
    assert load_backbone(name, size=32).spec.transform.size == 32
    with pytest.raises(UserError, match="takes images of 16 pixels only, not 32"):
        load_backbone(f"onnx:{write(tmp_path / 'n.onnx')}", size=32)


@pytest.mark.parametrize(
    ("shape", "element", "message"),
    [
        ((1, 16, 16, 3), 1, "its input is 1 × 16 × 16 × 3, not a batch of square images in colour"),
        ((1, 3, 16, 8), 1, "not a batch of square images"),
        ((1, 1, 16, 16), 1, "not a batch of square images"),
        ((1, 3, 16, 16), 2, "not 16 or 32-bit floats|not a sound ONNX file"),
    ],
)
def test_other_inputs_are_refused(tmp_path: Path, shape: tuple[int, ...], element: int, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_backbone(f"onnx:{write(tmp_path / 'm.onnx', shape, element)}")


def test_damaged_and_missing_files(tmp_path: Path) -> None:
    path = write(tmp_path / "m.onnx")
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(UserError, match="m.onnx: damaged, or not a sound ONNX file"):
        load_backbone(f"onnx:{path}")
    (tmp_path / "empty.onnx").touch()
    with pytest.raises(UserError, match="empty.onnx: damaged, or not a sound ONNX file"):
        load_backbone(f"onnx:{tmp_path / 'empty.onnx'}")
    with pytest.raises(UserError, match="no such ONNX file"):
        load_backbone(f"onnx:{tmp_path / 'none.onnx'}")
    with pytest.raises(UserError, match="has fixed weights"):
        load_backbone(f"onnx:{path}", weights="random")


def test_weights_in_a_file_beside_it(tmp_path: Path) -> None:
    """As exporters write large networks; other weights there are other weights, though the graph is the same."""
    path = write(tmp_path / "m.onnx")
    inside = load_backbone(f"onnx:{path}")
    onnx.save(onnx.load(str(path)), str(path), save_as_external_data=True, location="m.data", size_threshold=0)
    beside = load_backbone(f"onnx:{path}")
    assert torch.equal(inside(images(2)), beside(images(2)))
    data = bytearray((tmp_path / "m.data").read_bytes())
    data[:4] = np.float32(7).tobytes()
    (tmp_path / "m.data").write_bytes(data)
    assert load_backbone(f"onnx:{path}").spec.weights != beside.spec.weights
    (tmp_path / "m.data").write_bytes(data[:-4])
    with pytest.raises(UserError, match="m.data: ends before the values of"):
        load_backbone(f"onnx:{path}")
    (tmp_path / "m.data").unlink()
    with pytest.raises(UserError, match="m.onnx: m.data, which contains the values of .*, is missing"):
        load_backbone(f"onnx:{path}")


def test_more_weights_than_one_message_may_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They stay in their file, whose content still identifies them; what cannot stay there is refused."""
    path = write(tmp_path / "m.onnx")
    inside = load_backbone(f"onnx:{path}")
    onnx.save(onnx.load(str(path)), str(path), save_as_external_data=True, location="m.data", size_threshold=0)
    monkeypatch.setattr("unseen.backbones.onnx_files.MOST", path.stat().st_size)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    beside = load_backbone(f"onnx:{path}")
    assert torch.equal(inside(images(2)), beside(images(2)))
    data = bytearray((tmp_path / "m.data").read_bytes())
    data[:4] = np.float32(7).tobytes()
    (tmp_path / "m.data").write_bytes(data)
    changed = load_backbone(f"onnx:{path}")
    assert changed.spec.weights != beside.spec.weights
    assert not torch.equal(changed(images(2)), beside(images(2)))
    (tmp_path / "c.data").write_bytes(bytes(12))
    constant = write_scaled(tmp_path / "c.onnx", "c.data", nested=False)
    monkeypatch.setattr("unseen.backbones.onnx_files.MOST", constant.stat().st_size)
    with pytest.raises(UserError, match="of constants inside nodes.* export it with its constants as weights"):
        load_backbone(f"onnx:{constant}")


def external(values: Any, name: str, location: str) -> Any:
    """A tensor whose values are in another file."""
    tensor = onnx.numpy_helper.from_array(values, name)
    onnx.external_data_helper.set_external_data(tensor, location, length=len(tensor.raw_data))
    tensor.ClearField("raw_data")
    return tensor


def write_scaled(path: Path, location: str, nested: bool) -> Path:
    """Means of channels times a constant in another file, in a node of the graph or of the branches of an If."""
    helper = onnx.helper
    values = external(np.zeros(3, np.float32), "factor", location)
    shape = helper.make_tensor_value_info("scale", 1, (3,))
    if nested:
        branch = helper.make_graph([helper.make_node("Constant", [], ["scale"], value=values)], "branch", [], [shape])
        truth = helper.make_node("Constant", [], ["yes"], value=helper.make_tensor("yes", 9, (), [True]))
        nodes = [truth, helper.make_node("If", ["yes"], ["scale"], then_branch=branch, else_branch=branch)]
    else:
        nodes = [helper.make_node("Constant", [], ["scale"], value=values)]
    nodes += [
        helper.make_node("GlobalAveragePool", ["images"], ["mean"]),
        helper.make_node("Flatten", ["mean"], ["flat"]),
        helper.make_node("Mul", ["flat", "scale"], ["features"]),
    ]
    ends = [helper.make_tensor_value_info(n, 1, s) for n, s in (("images", ("b", 3, 8, 8)), ("features", ("b", 3)))]
    graph = helper.make_graph(nodes, "scaled", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("nested", [False, True])
def test_constants_in_a_file_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nested: bool) -> None:
    """They are of the model's folder, not of the current one, and in what identifies the weights."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    (tmp_path / "elsewhere/c.data").write_bytes(np.full(3, 9, np.float32).tobytes())
    path = write_scaled(tmp_path / "m.onnx", "c.data", nested)
    found = []
    for factor in (2, 3):
        (tmp_path / "c.data").write_bytes(np.full(3, factor, np.float32).tobytes())
        found.append(load_backbone(f"onnx:{path}"))
        torch.testing.assert_close(found[-1](images(2, 8)), factor * images(2, 8).mean((2, 3)))
    assert found[0].spec.weights != found[1].spec.weights


@pytest.mark.parametrize("location", ["../c.data", "/etc/hostname", "link/c.data", ""])
def test_values_outside_of_the_folder_are_refused(tmp_path: Path, location: str) -> None:
    (tmp_path / "c.data").write_bytes(bytes(12))
    (tmp_path / "model").mkdir()
    (tmp_path / "model/link").symlink_to(tmp_path)
    with pytest.raises(UserError, match="m.onnx: refused, factor has its values outside of the folder"):
        load_backbone(f"onnx:{write_scaled(tmp_path / 'model/m.onnx', location, nested=False)}")


def test_the_layout_of_the_hub_s_cache(tmp_path: Path) -> None:
    for folder in ("blobs", "snapshots/1"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "blobs/b").write_bytes(np.full(3, 2, np.float32).tobytes())
    write_scaled(tmp_path / "blobs/a", "c.data", nested=False)
    for name, blob in (("m.onnx", "a"), ("c.data", "b")):
        (tmp_path / "snapshots/1" / name).symlink_to(f"../../blobs/{blob}")
    backbone = load_backbone(f"onnx:{tmp_path / 'snapshots/1/m.onnx'}")
    torch.testing.assert_close(backbone(images(2, 8)), 2 * images(2, 8).mean((2, 3)))


def test_the_file_is_what_identifies_it(tmp_path: Path) -> None:
    path = write(tmp_path / "m.onnx")
    assert load_backbone(f"onnx:{path}").spec.weights == f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


def test_patches_of_a_map_inside_the_file(tmp_path: Path) -> None:
    backbone = load_backbone(f"onnx:{write(tmp_path / 'm.onnx')}", layer="map", patches=True)
    assert isinstance(backbone.spec, PatchSpec)
    assert (backbone.spec.grid, backbone.spec.channels) == ((4, 4), 5)
    expected = reference()[:2](images(2)).detach().flatten(2).transpose(1, 2).flatten(1)
    torch.testing.assert_close(backbone(images(2)), expected)
    torch.testing.assert_close(deepcopy(backbone.module)(images(2)), expected)  # what a training does to it


def write_bomb(path: Path, elements: int, *, by_images: bool) -> Path:
    """A graph of 400 bytes that makes so many floats, when it is opened or only when it is run."""
    helper = onnx.helper
    first = [helper.make_node("Identity", ["n"], ["shape"])]
    if by_images:
        first = [
            helper.make_node("Shape", ["images"], ["sides"]),
            helper.make_node("Mul", ["sides", "zeros"], ["none"]),
            helper.make_node("ReduceSum", ["none"], ["zero"], keepdims=1),
            helper.make_node("Add", ["zero", "n"], ["shape"]),
        ]
    nodes = [
        *first,
        helper.make_node("ConstantOfShape", ["shape"], ["many"]),
        helper.make_node("ReduceSum", ["many"], ["sum"], keepdims=1),
        helper.make_node("GlobalAveragePool", ["images"], ["mean"]),
        helper.make_node("Flatten", ["mean"], ["flat"]),
        helper.make_node("Add", ["flat", "sum"], ["features"]),
    ]
    graph = helper.make_graph(
        nodes,
        "bomb",
        [helper.make_tensor_value_info("images", 1, ("b", 3, 16, 16))],
        [helper.make_tensor_value_info("features", 1, ("b", 3))],
        [
            onnx.numpy_helper.from_array(np.array(values, np.int64), name)
            for name, values in (("n", [elements]), ("zeros", [0] * 4))
        ],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    return path


@pytest.mark.parametrize("by_images", [False, True])
def test_a_graph_that_asks_for_gigabytes(
    tmp_path: Path, by_images: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    small = load_backbone(f"onnx:{write_bomb(tmp_path / 's.onnx', 1_000, by_images=by_images)}")
    torch.testing.assert_close(small(images(2)), images(2).mean((2, 3)))
    path = write_bomb(tmp_path / "m.onnx", 1 << 40, by_images=by_images)
    with pytest.raises(UserError, match=r"m\.onnx: .* 4\.3 GB .* UNSEEN_GRAPH_MEMORY"):
        load_backbone(f"onnx:{path}")
    monkeypatch.setenv("UNSEEN_GRAPH_MEMORY", "0.3")
    with pytest.raises(UserError, match=r"m\.onnx: .* 0\.3 GB "):
        load_backbone(f"onnx:{write_bomb(path, 1 << 27, by_images=by_images)}")
    monkeypatch.setenv("UNSEEN_GRAPH_MEMORY", "much")
    with pytest.raises(UserError, match="UNSEEN_GRAPH_MEMORY .*'much'"):
        load_backbone(f"onnx:{path}")
    assert capfd.readouterr() == ("", "")


def test_a_graph_whose_process_ends(tmp_path: Path) -> None:
    process = GraphProcess(write(tmp_path / "m.onnx"), 0)
    session = process.session((tmp_path / "m.onnx").read_bytes(), threads=1, gpu=None, folder=None)
    [found] = process.run(session, ["logits"], images(2).numpy(), limited=True)
    assert found.shape == (2, 7)
    process.process.kill()
    with pytest.raises(UserError, match=r"m\.onnx: .*exit code -9"):
        process.run(session, ["logits"], images(2).numpy(), limited=True)


def test_a_session_of_its_own_gives_the_same_bits(tmp_path: Path) -> None:
    import onnxruntime

    path = write(tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    [expected] = session.run(["logits"], {"images": images(5).numpy()})
    assert np.array_equal(load_backbone(f"onnx:{path}")(images(5)).numpy(), expected)
