"""Recurrent loops whose gradients are worked out by hand: the same answers, faster."""
