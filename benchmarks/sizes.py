"""The sizes of the models that are trained."""

from regard.configs.transformer import TransformerConfig

# Post-norm, as in Marian and the paper, so that the same weights fit every contender.
SIZES = {
    "tiny": TransformerConfig(
        encoder_layers=4, decoder_layers=4, d_model=128, d_ff=256, num_heads=4, dropout=0.3
    ),
    "small": TransformerConfig(
        encoder_layers=3, decoder_layers=3, d_model=256, d_ff=1024, num_heads=4, dropout=0.1
    ),
    "base": TransformerConfig(
        encoder_layers=6, decoder_layers=6, d_model=512, d_ff=2048, num_heads=8, dropout=0.1
    ),
}
