"""The parts of recurrent encoder-decoders."""
