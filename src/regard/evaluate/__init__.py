"""How good a translator is: scores by sacreBLEU, speed, word alignments, and whether one is better than another."""
