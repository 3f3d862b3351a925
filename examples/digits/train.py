#!/usr/bin/env python3
"""Trains the example network on scikit-learn's handwritten digits and writes it, float and int8, with held-out inputs.

A rerun with the versions of requirements.txt gives the same bytes on the same kind of processor: seeds are fixed,
TensorFlow is held to one thread and deterministic kernels, and the files carry no dates or versions.
"""

import argparse
import csv
import os
import pathlib

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"  # its kernels, chosen by processor, round differently
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import flatbuffers
import keras
import numpy as np
import sklearn.datasets
import sklearn.model_selection
import tensorflow as tf
from PIL import Image
from tensorflow.lite.python import schema_py_generated as schema
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

SEED = 7
HELD_OUT = 360
EPOCHS = 60
BATCH = 32
DIGIT_NAMES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


def load_pixels():
    """Images as uint8 [N,8,8,1] with the data set's grey values 0..16 spread over 0..255 (ink is bright), and labels.

    Returns (train images, held-out images, train labels, held-out labels).
    """
    digits = sklearn.datasets.load_digits()
    pixels = np.rint(digits.images * (255.0 / 16.0)).astype(np.uint8)[..., np.newaxis]
    return sklearn.model_selection.train_test_split(
        pixels, digits.target.astype(np.uint8), test_size=HELD_OUT, stratify=digits.target, random_state=SEED
    )


def to_float(pixels):
    return pixels.astype(np.float32) / np.float32(255)


def to_int8(pixels):
    return (pixels.astype(np.int16) - 128).astype(np.int8)


def convolution(x, name, channels=None, size=1, relu=True):
    """A convolution (depthwise 3x3 if `channels` is None), batch normalisation, ReLU; the converter fuses the three."""
    if channels is None:
        x = keras.layers.DepthwiseConv2D(3, padding="same", use_bias=False, name=name)(x)
    else:
        x = keras.layers.Conv2D(channels, size, padding="same", use_bias=False, name=name)(x)
    x = keras.layers.BatchNormalization(name=name + "_norm")(x)
    return keras.layers.ReLU(name=name + "_relu")(x) if relu else x


def residual_block(x, name, expanded):
    """MobileNetV2's inverted residual: memory peaks in its wide middle, while the narrow input waits for the add."""
    y = convolution(x, name + "_expand", expanded)
    y = convolution(y, name + "_depthwise")
    y = convolution(y, name + "_project", x.shape[-1], relu=False)
    return keras.layers.Add(name=name + "_add")([x, y])


def build_network():
    image = keras.Input((8, 8, 1), name="image")
    x = convolution(image, "stem", 16, size=3)
    x = residual_block(x, "block1", 48)
    x = keras.layers.MaxPooling2D(2, name="pool")(x)
    x = convolution(x, "widen", 32)
    x = residual_block(x, "block2", 96)
    x = keras.layers.AveragePooling2D(4, name="average")(x)
    x = keras.layers.Reshape((32,), name="flatten")(x)
    x = keras.layers.Dropout(0.2, name="dropout")(x)
    logits = keras.layers.Dense(10, name="logits")(x)
    return keras.Model(image, keras.layers.Softmax(name="probabilities")(logits))


# Names for the tensors that operators produce, in the order in which build_network() makes them. The converter drops
# "flatten", for FULLY_CONNECTED takes an input of any rank.
OUTPUT_NAMES = [
    "stem", "block1_expand", "block1_depthwise", "block1_project", "block1_add", "pool", "widen", "block2_expand",
    "block2_depthwise", "block2_project", "block2_add", "average", "logits", "probabilities",
]  # fmt: skip


def shifted(images, generator):
    """Each image moved by -1, 0 or 1 pixels down and right, the border filled with background."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
    offsets = generator.integers(0, 3, (len(images), 2))
    return np.stack([padded[i, r : r + 8, c : c + 8] for i, (r, c) in enumerate(offsets)])


def train(network, images, labels):
    """A fixed number of epochs with a cosine learning rate: nothing is chosen by looking at the held-out set."""
    generator = np.random.default_rng(SEED)
    steps_per_epoch = len(images) // BATCH
    rate = keras.optimizers.schedules.CosineDecay(3e-3, EPOCHS * steps_per_epoch)
    optimizer = keras.optimizers.Adam(rate)
    loss_of = keras.losses.SparseCategoricalCrossentropy()

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(y, network(x, training=True))
        optimizer.apply_gradients(
            zip(tape.gradient(loss, network.trainable_variables), network.trainable_variables)
        )
        return loss

    for epoch in range(EPOCHS):
        x = shifted(images, generator)
        order = generator.permutation(len(x))
        losses = []
        for i in range(steps_per_epoch):
            batch = order[i * BATCH : (i + 1) * BATCH]
            losses.append(float(step(tf.constant(x[batch]), tf.constant(labels[batch]))))
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}")


def convert(network, calibration=None):
    """The network as .tflite bytes for a batch of one; int8 throughout when calibration images are given."""

    @tf.function(input_signature=[tf.TensorSpec((1, 8, 8, 1), tf.float32, name="image")])
    def infer(image):
        return network(image, training=False)

    # Frozen by hand: the converter would keep Keras 3 variables as operators.
    frozen = convert_variables_to_constants_v2(infer.get_concrete_function())
    converter = tf.lite.TFLiteConverter.from_concrete_functions([frozen], network)
    if calibration is not None:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: ([image[np.newaxis]] for image in calibration)
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = tf.int8
        converter.inference_output_type = tf.int8
    return tidy(converter.convert())


class AlignedBuffer(schema.BufferT):
    """A buffer whose data starts on 16 bytes, as the schema's force_align asks; the Python packer ignores that."""

    def Pack(self, builder):
        data = None
        if self.data is not None and len(self.data):
            content = bytes(bytearray(self.data))
            builder.StartVector(1, len(content), 16)
            builder.head -= len(content)
            builder.Bytes[builder.head : builder.head + len(content)] = content
            data = builder.EndVector()
        schema.BufferStart(builder)
        if data is not None:
            schema.BufferAddData(builder, data)
        return schema.BufferEnd(builder)


def tidy(content):
    """Names the tensors readably and drops what no runtime needs: metadata, signatures, ranges, empty buffers."""
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(bytearray(content), 0))
    graph = model.subgraphs[0]
    rename_tensors(graph)

    buffers, moved = [AlignedBuffer()], {}
    for tensor in graph.tensors:
        data = model.buffers[tensor.buffer].data
        if data is None or len(data) == 0:
            tensor.buffer = 0
        else:
            if tensor.buffer not in moved:
                moved[tensor.buffer] = len(buffers)
                buffers.append(AlignedBuffer())
                buffers[-1].data = data
            tensor.buffer = moved[tensor.buffer]
        if tensor.quantization is not None:
            tensor.quantization.min = tensor.quantization.max = None
            if tensor.quantization.scale is None:
                tensor.quantization = None
    model.buffers = buffers
    model.metadata = model.metadataBuffer = model.signatureDefs = None
    model.description = "digits, an example network of Linnet"
    graph.name = "digits"

    builder = flatbuffers.Builder(len(content))
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())


def rename_tensors(graph):
    if len(graph.operators) != len(OUTPUT_NAMES):
        raise SystemExit(f"the converter made {len(graph.operators)} operators where {len(OUTPUT_NAMES)} are named")
    graph.tensors[graph.inputs[0]].name = "image"
    for operator, name in zip(graph.operators, OUTPUT_NAMES):
        graph.tensors[operator.outputs[0]].name = name
        constants = [i for i in operator.inputs if i >= 0 and graph.tensors[i].buffer and not is_computed(graph, i)]
        for index, part in zip(constants, ["weights", "bias"]):
            graph.tensors[index].name = f"{name}/{part}"


def is_computed(graph, index):
    return index in graph.inputs or any(index in operator.outputs for operator in graph.operators)


def classify(content, images):
    """The winning class of each image, by TensorFlow Lite's reference kernels."""
    interpreter = tf.lite.Interpreter(
        model_content=content, experimental_op_resolver_type=tf.lite.experimental.OpResolverType.BUILTIN_REF
    )
    interpreter.allocate_tensors()
    answers = []
    for image in images:
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], image[np.newaxis])
        interpreter.invoke()
        answers.append(int(np.argmax(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))))
    return np.array(answers)


def write_inputs(folder, images, labels, right):
    """Of each digit the first held-out image where `right`, as picture and as tensor, and the whole held-out set."""
    inputs = folder / "inputs"
    inputs.mkdir(exist_ok=True)
    with open(inputs / "labels.csv", "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["name", "label"])
        for digit, name in enumerate(DIGIT_NAMES):
            image = images[np.flatnonzero((labels == digit) & right)[0]]
            Image.fromarray(image[..., 0]).save(inputs / f"{name}.png")
            np.save(inputs / f"{name}_int8.npy", to_int8(image)[np.newaxis])
            np.save(inputs / f"{name}_float.npy", to_float(image)[np.newaxis])
            table.writerow([name, digit])
    np.save(folder / "held_out_images.npy", images)
    np.save(folder / "held_out_labels.npy", labels)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent)
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)

    keras.utils.set_random_seed(SEED)
    tf.config.experimental.enable_op_determinism()
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)

    train_pixels, held_out_pixels, train_labels, held_out_labels = load_pixels()
    network = build_network()
    train(network, to_float(train_pixels), train_labels)

    models = {
        "digits_float.tflite": (convert(network), to_float),
        "digits_int8.tflite": (convert(network, to_float(train_pixels)), to_int8),
    }
    right_in_both = np.ones(HELD_OUT, bool)
    for name, (content, to_tensor) in models.items():
        (folder / name).write_bytes(content)
        right = classify(content, to_tensor(held_out_pixels)) == held_out_labels
        right_in_both &= right
        print(f"{name}: {len(content)} bytes, {np.count_nonzero(right)} of {HELD_OUT} held-out images right")
    write_inputs(folder, held_out_pixels, held_out_labels, right_in_both)


if __name__ == "__main__":
    main()
