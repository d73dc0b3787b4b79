"""An exact index of areas: which of many hold a place, and which have a border near a way."""
