"""Files that teach coding agents to use Periplus (`periplus init-agents`)."""
