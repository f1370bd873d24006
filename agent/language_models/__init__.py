"""Language models: their names, what they may cost, what they were asked. Who asks is `agent.inferencer`."""
