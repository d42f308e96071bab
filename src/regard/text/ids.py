"""Ids that every vocabulary has, and no text ever gives: `</s>` typed by a user is four characters."""

PAD, UNKNOWN, START, END = 0, 1, 2, 3
