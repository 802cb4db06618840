"""The FLOPs that `doppler graph show` counts in an ONNX model, against a count of its own.

Run by ctest with the folder of the programs. Shapes come from Debian's python3-onnx and its shape inference, the
formulas from the table in docs/graph_formats.md; nothing of doppler's own code is used. Skips without python3-onnx or
without the models below DOPPLER_PUBLIC_DATA.
"""

import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper, shape_inference
except ImportError:
    onnx = None

BIN = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else pathlib.Path("build/bin")
DATA = os.environ.get("DOPPLER_PUBLIC_DATA", "")
TOLERANCE = 1e-3


def elements(shape):
    return math.prod(shape)


def count_conv(node, shapes, attributes):
    weight = shapes[node.input[1]]
    output = elements(shapes[node.output[0]])
    bias = output if len(node.input) > 2 else 0
    return 2 * output * weight[1] * elements(weight[2:]) + bias


def count_gemm(node, shapes, attributes):
    a = shapes[node.input[0]]
    inner = a[0] if attributes.get("transA", 0) else a[1]
    output = elements(shapes[node.output[0]])
    return output * 2 * inner + (output if len(node.input) > 2 else 0)


def per_output(factor):
    return lambda node, shapes, attributes: factor * elements(shapes[node.output[0]])


RULES = {
    "Conv": count_conv,
    "Gemm": count_gemm,
    "MatMul": lambda node, shapes, attributes: 2
    * elements(shapes[node.output[0]])
    * shapes[node.input[0]][-1],
    "Relu": per_output(1),
    "Add": per_output(1),
    "Sub": per_output(1),
    "Mul": per_output(1),
    "Div": per_output(1),
    "Sqrt": per_output(1),
    "Pow": per_output(1),
    "Erf": per_output(1),
    "Tanh": per_output(1),
    "Softmax": per_output(5),
    "LRN": lambda node, shapes, attributes: (2 * attributes["size"] + 3)
    * elements(shapes[node.output[0]]),
    "MaxPool": lambda node, shapes, attributes: elements(attributes["kernel_shape"])
    * elements(shapes[node.output[0]]),
    "GlobalAveragePool": lambda node, shapes, attributes: elements(shapes[node.input[0]]),
    "ReduceMean": lambda node, shapes, attributes: elements(shapes[node.input[0]]),
    "Concat": per_output(0),
    "Reshape": per_output(0),
    "Transpose": per_output(0),
    "Dropout": per_output(0),
    "ConstantOfShape": per_output(0),
    "Constant": per_output(0),
    "Shape": per_output(0),
    "Gather": per_output(0),
    "Unsqueeze": per_output(0),
}


def known_shapes(model):
    """Of every tensor. The library does not look into the shapes that ConstantOfShape gets; we do."""
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "ConstantOfShape" and node.input[0] in values:
            model.graph.value_info.append(
                helper.make_tensor_value_info(
                    node.output[0], TensorProto.FLOAT, [int(n) for n in values[node.input[0]]]
                )
            )
    inferred = shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    shapes = {name: list(value.shape) for name, value in values.items()}
    for value in [*inferred.graph.input, *inferred.graph.value_info, *inferred.graph.output]:
        shapes[value.name] = [d.dim_value for d in value.type.tensor_type.shape.dim]
    return shapes


def count(model):
    shapes = known_shapes(model)
    total = 0
    for node in model.graph.node:
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        total += RULES[node.op_type](node, shapes, attributes)
    return total


def show(path, *flags):
    result = subprocess.run(
        [str(BIN / "doppler-graph"), "show", str(path), "--json", *flags],
        capture_output=True,
        text=True,
        timeout=120,
    )
    if result.returncode != 0:
        raise AssertionError(result.stderr)
    return json.loads(result.stdout)


def transformer_block(batch):
    """Attention with two heads and an MLP with GELU, as an exporter would write them."""
    rows, width, heads = 16, 32, 2
    node = helper.make_node
    nodes = [
        node("ReduceMean", ["x"], ["mean"], axes=[-1]),
        node("Sub", ["x", "mean"], ["centred"]),
        node("Pow", ["centred", "two"], ["squared"]),
        node("ReduceMean", ["squared"], ["variance"], axes=[-1]),
        node("Add", ["variance", "epsilon"], ["shifted"]),
        node("Sqrt", ["shifted"], ["deviation"]),
        node("Div", ["centred", "deviation"], ["normal"]),
    ]
    for name, permutation in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        nodes += [
            node("MatMul", ["normal", f"w{name}"], [f"{name}0"]),
            node("Reshape", [f"{name}0", "split"], [f"{name}1"]),
            node("Transpose", [f"{name}1"], [name], perm=permutation),
        ]
    nodes += [
        node("MatMul", ["q", "k"], ["scores"]),
        node("Softmax", ["scores"], ["weights"], axis=-1),
        node("MatMul", ["weights", "v"], ["mixed"]),
        node("Transpose", ["mixed"], ["mixed1"], perm=[0, 2, 1, 3]),
        node("Reshape", ["mixed1", "join"], ["mixed2"]),
        node("MatMul", ["mixed2", "wo"], ["projected"]),
        node("Add", ["x", "projected"], ["residual"]),
        node("MatMul", ["residual", "w1"], ["h0"]),
        node("Erf", ["h0"], ["h1"]),
        node("Mul", ["h0", "h1"], ["h2"]),
        node("MatMul", ["h2", "w2"], ["h3"]),
        node("Add", ["residual", "h3"], ["y"]),
    ]

    def weight(name, shape):
        return helper.make_tensor(name, TensorProto.FLOAT, shape, [0.0] * elements(shape))

    def numbers(name, values):
        return helper.make_tensor(name, TensorProto.INT64, [len(values)], values)

    initializers = [weight(f"w{name}", [width, width]) for name in "qkvo"]
    initializers += [weight("w1", [width, 64]), weight("w2", [64, width]), weight("two", [1]), weight("epsilon", [1])]
    initializers += [numbers("split", [0, 0, heads, width // heads]), numbers("join", [0, 0, width])]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "block",
        [value("x", TensorProto.FLOAT, [batch, rows, width])],
        [value("y", TensorProto.FLOAT, [batch, rows, width])],
        initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])


@unittest.skipIf(onnx is None, "needs Debian's python3-onnx")
class OnnxFlops(unittest.TestCase):
    def assert_agrees(self, ours, theirs):
        self.assertGreater(theirs, 0)
        difference = abs(ours - theirs) / theirs
        print(f"{self.id()}: {ours:.0f} here, {theirs} there, relative difference {difference:.2e}")
        self.assertLess(difference, TOLERANCE)

    def check_public(self, name):
        path = pathlib.Path(DATA) / "onnx" / name
        if not DATA or not path.exists():
            self.skipTest(f"needs onnx/{name}: set DOPPLER_PUBLIC_DATA to the folder with the public files")
        self.assert_agrees(show(path)["total_flops"], count(onnx.load(str(path))))

    def test_squeezenet(self):
        self.check_public("light_squeezenet.onnx")

    def test_alexnet(self):
        self.check_public("light_bvlc_alexnet.onnx")

    def test_a_transformer_block_of_a_symbolic_batch(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "block.onnx"
            onnx.save(transformer_block("batch"), str(path))
            report = show(path, "--dimension", "batch=3")
        self.assertEqual(report["warnings"], [])
        self.assert_agrees(report["total_flops"], count(transformer_block(3)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
