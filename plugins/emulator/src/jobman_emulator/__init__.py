"""An emulator of the Cloud TPU API, with hosts that can be reached. It is no security boundary."""
