"""Where another engine is not followed: what it does there is undefined, or contradicts the other one and the operator's
definition. Each rule is as narrow as its reason."""

NONE = 0  # of schema: ActivationFunctionType
INT32 = 2  # of schema: TensorType


def relu6_rescales(engine, node):
    """TFLM's quantised RELU6 copies numbers from the input's scale into the output's without converting them."""
    x, y = node["inputs"][0], node["outputs"][0]
    return (engine == "tflm" and node["operator"] == "RELU6" and y["type"] != "float32" and
            (x["scales"], x["zero_points"]) != (y["scales"], y["zero_points"]))


def relu6_of_tiny_scales(engine, node):
    """Both engines' quantised RELU6 converts 6 / scale to an integer of 32 bits, whatever it is."""
    scaled = node["inputs" if engine == "tflm" else "outputs"][0]
    return node["operator"] == "RELU6" and scaled["type"] != "float32" and 6 / scaled["scales"][0] >= 2**31 - 128


def add_forgets_activation(engine, node):
    """TFLM's ADD of int32 ignores the fused activation; its SUB and MUL do not."""
    return engine == "tflm" and node["operator"] == "ADD" and node["outputs"][0]["type"] == "int32" and node["options"].get("0", NONE) != NONE


def transpose_conv_of_narrow_sums(engine, node):
    """TFLM's TRANSPOSE_CONV of int16 reads a bias of 32 bits as one of 64, past its end, and ignores quantized_bias_type."""
    return (engine == "tflm" and node["operator"] == "TRANSPOSE_CONV" and node["outputs"][0]["type"] == "int16" and
            node["options"].get("4", 0) == INT32)


def wide_sum_scaled_up(engine, node):
    """Sums of 64 bits that are scaled by 2^14 or more: both engines shift by a negative number of bits."""
    if node["operator"] not in ("CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV", "FULLY_CONNECTED") or node["outputs"][0]["type"] != "int16":
        return False
    x = node["inputs"][2 if node["operator"] == "TRANSPOSE_CONV" else 0]
    return x["scales"][0] * max(node["inputs"][1]["scales"]) / node["outputs"][0]["scales"][0] >= 2**14


def one_scale_for_hybrid_channels(engine, node):
    """LiteRT's hybrid DEPTHWISE_CONV_2D reads a scale for each channel from a filter that has one for all."""
    if engine != "litert" or node["operator"] != "DEPTHWISE_CONV_2D" or node["inputs"][0]["type"] != "float32":
        return False
    filter = node["inputs"][1]
    return filter["type"] == "int8" and len(filter["scales"]) == 1 < filter["shape"][3]


RULES = (relu6_rescales, relu6_of_tiny_scales, add_forgets_activation, transpose_conv_of_narrow_sums,
         wide_sum_scaled_up, one_scale_for_hybrid_channels)


def excludes(case, engine):
    """Why this engine's outputs say nothing about this case; None if they do."""
    for node in case.about["nodes"]:
        for rule in RULES:
            if rule(engine, node):
                return rule.__doc__
    return None


def excuses(case):
    """Why Linnet may refuse what another engine computes; None if it may not."""
    return None
