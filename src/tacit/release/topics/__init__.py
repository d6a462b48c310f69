"""Topics: how many people search for what, over a public taxonomy. For logs of any size, without δ."""
