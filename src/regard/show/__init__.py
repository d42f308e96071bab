"""Pictures of attention: heat maps, bars, the worked example and the catalogue. Needs `regard[show]`."""

from regard.show.draw import bars, save, weights

__all__ = ["bars", "save", "weights"]
