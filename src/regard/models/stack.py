"""What the blocks of a GPT and of a BERT are built from."""

from regard.configs.stack import OneStack
from regard.layers.choices import Norm
from regard.layers.transformer import BlockSizes


def stack_sizes(config: OneStack, norm: Norm) -> BlockSizes:
    return BlockSizes(
        d_model=config.d_model,
        d_ff=config.d_ff,
        num_heads=config.num_heads,
        dropout=config.dropout,
        attention_dropout=config.attention_dropout,
        norm=norm,
        activation=config.activation,
        norm_epsilon=config.norm_epsilon,
    )
