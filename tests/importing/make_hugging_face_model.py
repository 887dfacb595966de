"""Makes hugging_face_models.npz: small random Marian models with the logits of Hugging Face.

python make_hugging_face_model.py, with torch 2.13, transformers 5.23 and safetensors installed. The
tests need only the result. It contains the files that `save_pretrained` and `torch.save` wrote, as
bytes, under CASE/FILE, and the logits for two pairs of id sequences.
"""

import tempfile
from pathlib import Path

import numpy as np
import torch
from transformers import MarianConfig, MarianMTModel

FILE = Path(__file__).parent / "hugging_face_models.npz"
# Their ids: 0 end, 1 unknown, 40 padding, from which the decoder starts.
SOURCES = [[7, 22, 5, 31, 1, 12, 0], [39, 2, 0, 40, 40, 40, 40]]
TARGETS = [[40, 9, 14, 33, 2, 1], [40, 28, 6, 6, 17, 38]]
COMMON = {
    **{"d_model": 16, "encoder_layers": 2, "decoder_layers": 1, "vocab_size": 41},
    **{"encoder_attention_heads": 4, "decoder_attention_heads": 4},
    **{"encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "max_position_embeddings": 20},
    **{"activation_function": "swish", "scale_embedding": True},
    **{"pad_token_id": 40, "decoder_start_token_id": 40, "eos_token_id": 0},
}
CASES = {
    "tied": {},
    "untied": {"tie_word_embeddings": False, "scale_embedding": False},
    "two_vocabularies": {
        "share_encoder_decoder_embeddings": False,
        "decoder_vocab_size": 43,
        "activation_function": "gelu",
        "encoder_layers": 1,
    },
}


def random_model(settings):
    """Returns a model whose weights have 16 bits, and whose logits differ a lot."""
    model = MarianMTModel(MarianConfig(**settings)).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "embed_positions" in name:
                continue
            mean = float("norm.weight" in name)
            weight.copy_((mean + 0.4 * torch.randn_like(weight)).half().float())
        model.final_logits_bias.copy_(torch.randn_like(model.final_logits_bias).half().float())
    return model


def main():
    torch.manual_seed(2017)
    arrays = {"source": np.array(SOURCES), "target": np.array(TARGETS)}
    source, target = torch.tensor(SOURCES), torch.tensor(TARGETS)
    inputs = {"input_ids": source, "attention_mask": (source != 40).long()}
    for case, changes in CASES.items():
        model = random_model(COMMON | changes)
        with torch.no_grad():
            arrays[f"{case}/logits"] = model(**inputs, decoder_input_ids=target).logits.numpy()
        with tempfile.TemporaryDirectory() as folder:
            model.half().save_pretrained(folder)
            if case == "tied":
                torch.save(model.state_dict(), Path(folder) / "pytorch_model.bin")
            for path in Path(folder).iterdir():
                arrays[f"{case}/{path.name}"] = np.frombuffer(path.read_bytes(), "uint8")
    np.savez_compressed(FILE, **arrays)


if __name__ == "__main__":
    main()
