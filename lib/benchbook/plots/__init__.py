"""Frame -> figure, drawn by seaborn: a module per way of showing, all in one style."""
