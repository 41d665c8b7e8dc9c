"""What backends promise the core: one abstract class each, with a contract suite in ``testing``."""
