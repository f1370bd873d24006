"""The ActionGraph: its model, synthesis, validation, report and generated script."""
