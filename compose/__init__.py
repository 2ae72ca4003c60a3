"""Starts real things: brokers (processes or containers), Toxiproxy on every link, and whatever watches them."""
