"""Joins LiteRT flatbuffers into one with several programs."""

import hashlib

import numpy as np
from tensorflow.lite.python import schema_py_generated as schema
from tensorflow.lite.tools.flatbuffer_utils import convert_object_to_bytearray

# Attributes of operations that contain the index of a subgraph.
SUBGRAPHS = ("condSubgraphIndex", "bodySubgraphIndex", "thenSubgraphIndex", "elseSubgraphIndex")
SUBGRAPHS += ("initSubgraphIndex", "subgraph")


def joined(models):
    """Returns a flatbuffer with the programs of several models. It contains each constant once."""
    first = models[0]
    whole = schema.ModelT()
    whole.version, whole.description = first.version, first.description
    whole.buffers, whole.operatorCodes, whole.subgraphs, whole.signatureDefs = [], [], [], []
    places, codes = {}, {}
    for model in models:
        buffers = [place_of(each, whole.buffers, places) for each in model.buffers]
        operators = [code_of(each, whole.operatorCodes, codes) for each in model.operatorCodes]
        before = len(whole.subgraphs)
        for program in model.subgraphs:
            for tensor in program.tensors:
                tensor.buffer = buffers[tensor.buffer]
            for operator in program.operators:
                operator.opcodeIndex = operators[operator.opcodeIndex]
                for name in SUBGRAPHS:
                    if hasattr(operator.builtinOptions, name):
                        moved = getattr(operator.builtinOptions, name) + before
                        setattr(operator.builtinOptions, name, moved)
            whole.subgraphs.append(program)
        for signature in model.signatureDefs:
            signature.subgraphIndex += before
            whole.signatureDefs.append(signature)
    return convert_object_to_bytearray(whole)


def place_of(buffer, buffers, places):
    """Returns the index in `buffers` of a buffer with this content; adds the buffer if missing."""
    data = np.zeros(0, "uint8") if buffer.data is None else np.asarray(buffer.data, "uint8")
    # The first buffer is empty, as are the buffers of arrays that are not constant.
    key = hashlib.sha256(data).digest() if data.size else b""
    if key not in places:
        places[key] = len(buffers)
        buffers.append(buffer)
    return places[key]


def code_of(code, codes, places):
    key = code.builtinCode, code.deprecatedBuiltinCode, code.customCode, code.version
    if key not in places:
        places[key] = len(codes)
        codes.append(code)
    return places[key]
