"""How things look in a notebook: HTML made of frames and results."""
