"""The demo: real drawings, real backbones, the whole concept-generalization protocol, on a laptop."""
