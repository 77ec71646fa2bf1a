"""Models of text, sound and pictures from transformers, x-transformers and peft: tiny, with random weights."""

from __future__ import annotations

import peft
import torch
import transformers as hub
import x_transformers
from torch.nn import functional as F

from tests.models.loops import Loop, supervised

__all__ = ["bert", "clip", "convnext", "gpt2", "llama", "lora", "mamba", "resnet", "t5", "vit", "whisper",
           "x_transformer"]

WORDS = 100


def words(*shape: int) -> torch.Tensor:
    """Random tokens, none of them special."""
    return torch.randint(3, WORDS, shape)


def gpt2() -> Loop:
    """GPT-2, a decoder with learned positions and tied embeddings."""
    config = hub.GPT2Config(vocab_size=WORDS, n_positions=32, n_embd=32, n_layer=2, n_head=4, bos_token_id=0,
                            eos_token_id=0)
    tokens = words(2, 12)
    return supervised(hub.GPT2LMHeadModel(config), lambda model: model(tokens, labels=tokens).loss)


def llama() -> Loop:
    """Llama, a decoder with rotary positions, RMS norms and grouped queries."""
    config = hub.LlamaConfig(vocab_size=WORDS, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
                             num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64)
    tokens = words(2, 12)
    return supervised(hub.LlamaForCausalLM(config), lambda model: model(tokens, labels=tokens).loss)


def t5() -> Loop:
    """T5, an encoder and a decoder with relative positions and one embedding for three modules."""
    config = hub.T5Config(vocab_size=WORDS, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
                          decoder_start_token_id=0)
    tokens = words(2, 10)
    return supervised(hub.T5ForConditionalGeneration(config),
                      lambda model: model(input_ids=tokens, labels=tokens).loss)


def whisper() -> Loop:
    """Whisper, which reads sound through convolutions and writes text."""
    config = hub.WhisperConfig(vocab_size=WORDS, num_mel_bins=8, d_model=32, encoder_layers=2, decoder_layers=2,
                               encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
                               decoder_ffn_dim=64, max_source_positions=20, max_target_positions=16, pad_token_id=0,
                               bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, begin_suppress_tokens=None)
    sound, tokens = torch.randn(2, 8, 40), words(2, 8)
    return supervised(hub.WhisperForConditionalGeneration(config),
                      lambda model: model(input_features=sound, labels=tokens).loss)


def bert() -> Loop:
    """BERT, an encoder, as a classifier."""
    config = hub.BertConfig(vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                            intermediate_size=64, max_position_embeddings=32, num_labels=3)
    tokens, labels = words(4, 12), torch.tensor([0, 1, 2, 0])
    return supervised(hub.BertForSequenceClassification(config), lambda model: model(tokens, labels=labels).loss)


def mamba() -> Loop:
    """Mamba, a state space model, which loops over the sequence in Python where its kernels are missing."""
    config = hub.MambaConfig(vocab_size=WORDS, hidden_size=16, state_size=4, num_hidden_layers=2, expand=2,
                             conv_kernel=3, time_step_rank=2, use_mambapy=False)
    tokens = words(2, 6)
    return supervised(hub.MambaForCausalLM(config), lambda model: model(tokens, labels=tokens).loss)


def clip() -> Loop:
    """CLIP, two towers that meet in a contrastive loss."""
    text = {"vocab_size": WORDS, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1,
            "num_attention_heads": 4, "max_position_embeddings": 16, "eos_token_id": 2, "bos_token_id": 1}
    vision = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4,
              "image_size": 16, "patch_size": 8}
    config = hub.CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)
    tokens, images = words(4, 8), torch.randn(4, 3, 16, 16)
    tokens[:, -1] = 2
    return supervised(hub.CLIPModel(config),
                      lambda model: model(input_ids=tokens, pixel_values=images, return_loss=True).loss)


def vit() -> Loop:
    """A vision transformer."""
    config = hub.ViTConfig(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
                           image_size=16, patch_size=8, num_labels=3)
    images, labels = torch.randn(4, 3, 16, 16), torch.tensor([0, 1, 2, 0])
    return supervised(hub.ViTForImageClassification(config),
                      lambda model: model(pixel_values=images, labels=labels).loss)


def convnext() -> Loop:
    """ConvNeXt, with depthwise convolutions and layer norms over channels."""
    config = hub.ConvNextConfig(hidden_sizes=[8, 16], depths=[1, 1], num_stages=2, num_labels=3)
    images, labels = torch.randn(4, 3, 32, 32), torch.tensor([0, 1, 2, 0])
    return supervised(hub.ConvNextForImageClassification(config),
                      lambda model: model(pixel_values=images, labels=labels).loss)


def resnet() -> Loop:
    """ResNet, with batch norm and its running statistics."""
    config = hub.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_labels=3)
    images, labels = torch.randn(8, 3, 32, 32), torch.arange(8) % 3
    return supervised(hub.ResNetForImageClassification(config),
                      lambda model: model(pixel_values=images, labels=labels).loss)


def x_transformer() -> Loop:
    """A decoder of x-transformers, whose options are functions around functions."""
    model = x_transformers.TransformerWrapper(
        num_tokens=WORDS, max_seq_len=16,
        attn_layers=x_transformers.Decoder(dim=32, depth=2, heads=4, attn_dim_head=8, rotary_pos_emb=True, ff_glu=True))
    tokens = words(2, 12)
    return supervised(model, lambda model: F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1),
                                                           tokens[:, 1:].flatten()))


def lora() -> Loop:
    """GPT-2, frozen, with low-rank adapters from peft."""
    config = hub.GPT2Config(vocab_size=WORDS, n_positions=32, n_embd=32, n_layer=1, n_head=4, bos_token_id=0,
                            eos_token_id=0)
    adapted = peft.LoraConfig(r=4, target_modules=["c_attn"], fan_in_fan_out=True, task_type="CAUSAL_LM")
    tokens = words(2, 12)
    return supervised(peft.get_peft_model(hub.GPT2LMHeadModel(config), adapted),
                      lambda model: model(input_ids=tokens, labels=tokens).loss)
