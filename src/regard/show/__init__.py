"""Pictures of attention: heat maps, bars, the worked example, the catalogue and the page. Needs `regard[show]`."""
