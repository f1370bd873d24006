"""Every AQL text, with the page of the ArangoDB 3.12 documentation it relies on.

All values are bound (`@x`, and `@@x` for collections); no text is put together from values. Names
of graphs and the attributes in `OPTIONS` are written out, so there is one text per objective: the
documentation promises bind parameters for values and collections, not for options.
"""

# -- reading and counting

# "High-level AQL operations: FOR, FILTER, SORT, LIMIT" (aql/high-level-operations). `sort_key` is
# hexadecimal, so the comparison does not depend on the server's language.
PAGE = """
FOR row IN @@collection
  FILTER row.website_id == @website AND row.generation == @generation AND row.sort_key > @after
  SORT row.sort_key
  LIMIT @page
  RETURN row
"""

# "COLLECT operation: WITH COUNT INTO" (aql/high-level-operations/collect).
COUNT = """
FOR row IN @@collection
  FILTER row.website_id == @website AND row.generation == @generation
  COLLECT WITH COUNT INTO rows
  RETURN rows
"""

# "COLLECT operation: grouping" (aql/high-level-operations/collect).
GENERATIONS = """
FOR row IN @@collection
  FILTER row.website_id == @website
  COLLECT generation = row.generation
  RETURN generation
"""

# "REMOVE operation" (aql/high-level-operations/remove): one transaction on a single server.
DROP = """
FOR row IN @@collection
  FILTER row.website_id == @website AND row.generation IN @generations
  REMOVE row IN @@collection
"""

# "FILTER operation" (aql/high-level-operations/filter), over the primary index.
KNOWN_KEYS = """
FOR row IN @@collection
  FILTER row._key IN @keys
  RETURN row._key
"""

# -- numbers computed on write

GROUP_PRIORITIES = """
FOR screen_group IN @@groups
  FILTER screen_group._key IN @keys
  RETURN {key: screen_group._key, priority: screen_group.recovery_priority}
"""

# "RETURN DISTINCT" (aql/high-level-operations/return), over the edge index.
SCREENS_OF_GROUPS = """
FOR membership IN @@memberships
  FILTER membership._to IN @groups
  RETURN DISTINCT membership._from
"""

# Pages "UPDATE operation" (aql/high-level-operations/update) and "Subqueries" (aql/fundamentals),
# of the functions LOG, MIN, MAX and NOT_NULL "Numeric" and "Miscellaneous" (aql/functions).
# The best recovery edge of a screen is found as `RECOVERY_PATHS` sorts. NOT_NULL keeps an edge of
# which nothing was learned at what was authored.
WEIGH = """
FOR screen IN @screens
  LET back = FIRST(
    FOR membership IN @@memberships
      FILTER membership._from == screen
      FOR recovery IN @@recoveries
        FILTER recovery._from == membership._to
        SORT recovery.recovery_priority, recovery.reliability DESC, recovery.expected_ms, recovery.sort_key
        LIMIT 1
        RETURN recovery.expected_ms
  )
  FOR edge IN @@transitions
    FILTER edge._from == screen
    LET learned = FIRST(
      FOR row IN @@learned
        FILTER row._key == edge.learned_key
        RETURN row
    )
    LET successes = NOT_NULL(learned.successes, 0)
    LET failures = NOT_NULL(learned.failures, 0)
    LET reliability = (edge.authored_reliability * @prior + successes) / (@prior + successes + failures)
    LET ms = NOT_NULL(learned.durations, 0) >= @enough
      ? learned.duration_sum / learned.duration_weight
      : edge.authored_ms
    LET r = MIN([1, MAX([@least, reliability])])
    UPDATE edge WITH {
      reliability: reliability,
      expected_ms: ms,
      weight_fastest: ms,
      weight_reliable: MAX([0, 0 - LOG(r)]),
      weight_balanced: ms + (1 - r) / r * (ms + NOT_NULL(back, @no_recovery_ms))
    } IN @@transitions
"""

# -- learned numbers

# "INSERT operation: overwriteMode" (aql/high-level-operations/insert): there, and never changed by this.
BEGIN_LEARNING = """
INSERT {
  _key: @key, website_id: @website, transition: @transition, successes: 0, failures: 0,
  durations: 0, duration_sum: 0, duration_weight: 0, counted_at: @at
} INTO @@learned
OPTIONS {overwriteMode: 'ignore'}
"""

# "INSERT operation" and "UPDATE operation: ignoreRevs" (aql/high-level-operations). One statement,
# so one transaction on a single server: the outcome's key is unique, and where it is there already
# the statement fails with 1210 and changes nothing. A counter that changed since it was read fails
# it with 1200, and it is sent again. The weights follow in WEIGH, in the same stream transaction.
COUNT_OUTCOME = """
INSERT {_key: @outcome, website_id: @website, expires_at: @expires_at} INTO @@outcomes
FOR counter IN @@learned
  FILTER counter._key == @key
  LET kept = POW(0.5, MAX([0, @at - counter.counted_at]) / @half_life_ms)
  UPDATE counter WITH {
    successes: counter.successes * kept + @succeeded,
    failures: counter.failures * kept + @failed,
    durations: counter.durations + @timed,
    duration_sum: counter.duration_sum * kept + @duration_ms,
    duration_weight: counter.duration_weight * kept + @timed,
    counted_at: MAX([counter.counted_at, @at])
  } IN @@learned OPTIONS {ignoreRevs: false}
  RETURN {
    successes: NEW.successes, failures: NEW.failures, durations: NEW.durations,
    duration_sum: NEW.duration_sum, duration_weight: NEW.duration_weight
  }
"""

# "FILTER operation", over the index of `transitions` on website and sort_key.
SCREENS_OF_TRANSITION = """
FOR edge IN @@transitions
  FILTER edge.website_id == @website AND edge.sort_key == @transition
  RETURN DISTINCT edge._from
"""

# -- paths

# "k Shortest Paths in AQL" (aql/graph-queries/k-shortest-paths): paths without loops, best first,
# always under a LIMIT. "Array operators: [*]" (aql/operators), "SUM, PRODUCT" (aql/functions/numeric).
# The default weight is never used: the collection's schema requires every number.
FEWEST_PATHS = """
FOR path IN OUTBOUND K_SHORTEST_PATHS @start TO @goal GRAPH 'navigation'
  OPTIONS {weightAttribute: 'weight_fewest', defaultWeight: 1000000}
  LIMIT @k
  RETURN {
    screens: path.vertices[*].sort_key,
    transitions: path.edges[*].sort_key,
    weight: path.weight,
    expected_ms: SUM(path.edges[*].expected_ms),
    reliability: PRODUCT(path.edges[*].reliability)
  }
"""

FASTEST_PATHS = """
FOR path IN OUTBOUND K_SHORTEST_PATHS @start TO @goal GRAPH 'navigation'
  OPTIONS {weightAttribute: 'weight_fastest', defaultWeight: 1000000}
  LIMIT @k
  RETURN {
    screens: path.vertices[*].sort_key,
    transitions: path.edges[*].sort_key,
    weight: path.weight,
    expected_ms: SUM(path.edges[*].expected_ms),
    reliability: PRODUCT(path.edges[*].reliability)
  }
"""

RELIABLE_PATHS = """
FOR path IN OUTBOUND K_SHORTEST_PATHS @start TO @goal GRAPH 'navigation'
  OPTIONS {weightAttribute: 'weight_reliable', defaultWeight: 1000000}
  LIMIT @k
  RETURN {
    screens: path.vertices[*].sort_key,
    transitions: path.edges[*].sort_key,
    weight: path.weight,
    expected_ms: SUM(path.edges[*].expected_ms),
    reliability: PRODUCT(path.edges[*].reliability)
  }
"""

BALANCED_PATHS = """
FOR path IN OUTBOUND K_SHORTEST_PATHS @start TO @goal GRAPH 'navigation'
  OPTIONS {weightAttribute: 'weight_balanced', defaultWeight: 1000000}
  LIMIT @k
  RETURN {
    screens: path.vertices[*].sort_key,
    transitions: path.edges[*].sort_key,
    weight: path.weight,
    expected_ms: SUM(path.edges[*].expected_ms),
    reliability: PRODUCT(path.edges[*].reliability)
  }
"""

# "Graph traversals in AQL" (aql/graph-queries/traversals): PRUNE comes before OPTIONS and is also
# asked at depth 0, where the edge is null, so the start is never pruned for being avoided; `order:
# 'weighted'` yields paths by their weight, whose running sums are `path.weights`.
FEWEST_WAYS = """
FOR screen, edge, path IN 1..@hops OUTBOUND @start GRAPH 'navigation'
  PRUNE screen._id == @goal OR (edge != null AND (
    screen._id IN @avoid_screens
    OR edge.sort_key IN @avoid_transitions
    OR edge.action_type IN @avoid_actions
  ))
  OPTIONS {order: 'weighted', weightAttribute: 'weight_fewest', defaultWeight: 1000000, uniqueVertices: 'path'}
  FILTER screen._id == @goal
  FILTER screen._id NOT IN @avoid_screens
  FILTER edge.sort_key NOT IN @avoid_transitions
  FILTER edge.action_type NOT IN @avoid_actions
  LIMIT @k
  RETURN {
    screens: path.vertices[*].sort_key,
    transitions: path.edges[*].sort_key,
    weight: LAST(path.weights),
    expected_ms: SUM(path.edges[*].expected_ms),
    reliability: PRODUCT(path.edges[*].reliability)
  }
"""

FASTEST_WAYS = """
FOR screen, edge, path IN 1..@hops OUTBOUND @start GRAPH 'navigation'
  PRUNE screen._id == @goal OR (edge != null AND (
    screen._id IN @avoid_screens
    OR edge.sort_key IN @avoid_transitions
    OR edge.action_type IN @avoid_actions
  ))
  OPTIONS {order: 'weighted', weightAttribute: 'weight_fastest', defaultWeight: 1000000, uniqueVertices: 'path'}
  FILTER screen._id == @goal
  FILTER screen._id NOT IN @avoid_screens
  FILTER edge.sort_key NOT IN @avoid_transitions
  FILTER edge.action_type NOT IN @avoid_actions
  LIMIT @k
  RETURN {
    screens: path.vertices[*].sort_key,
    transitions: path.edges[*].sort_key,
    weight: LAST(path.weights),
    expected_ms: SUM(path.edges[*].expected_ms),
    reliability: PRODUCT(path.edges[*].reliability)
  }
"""

RELIABLE_WAYS = """
FOR screen, edge, path IN 1..@hops OUTBOUND @start GRAPH 'navigation'
  PRUNE screen._id == @goal OR (edge != null AND (
    screen._id IN @avoid_screens
    OR edge.sort_key IN @avoid_transitions
    OR edge.action_type IN @avoid_actions
  ))
  OPTIONS {order: 'weighted', weightAttribute: 'weight_reliable', defaultWeight: 1000000, uniqueVertices: 'path'}
  FILTER screen._id == @goal
  FILTER screen._id NOT IN @avoid_screens
  FILTER edge.sort_key NOT IN @avoid_transitions
  FILTER edge.action_type NOT IN @avoid_actions
  LIMIT @k
  RETURN {
    screens: path.vertices[*].sort_key,
    transitions: path.edges[*].sort_key,
    weight: LAST(path.weights),
    expected_ms: SUM(path.edges[*].expected_ms),
    reliability: PRODUCT(path.edges[*].reliability)
  }
"""

BALANCED_WAYS = """
FOR screen, edge, path IN 1..@hops OUTBOUND @start GRAPH 'navigation'
  PRUNE screen._id == @goal OR (edge != null AND (
    screen._id IN @avoid_screens
    OR edge.sort_key IN @avoid_transitions
    OR edge.action_type IN @avoid_actions
  ))
  OPTIONS {order: 'weighted', weightAttribute: 'weight_balanced', defaultWeight: 1000000, uniqueVertices: 'path'}
  FILTER screen._id == @goal
  FILTER screen._id NOT IN @avoid_screens
  FILTER edge.sort_key NOT IN @avoid_transitions
  FILTER edge.action_type NOT IN @avoid_actions
  LIMIT @k
  RETURN {
    screens: path.vertices[*].sort_key,
    transitions: path.edges[*].sort_key,
    weight: LAST(path.weights),
    expected_ms: SUM(path.edges[*].expected_ms),
    reliability: PRODUCT(path.edges[*].reliability)
  }
"""

# "Graph traversals in AQL", one traversal inside another. Sorted over all groups at once, and only
# by numbers that every recovery edge has: null would sort first.
RECOVERY_PATHS = """
FOR screen_group IN 1..1 OUTBOUND @screen GRAPH 'group_membership'
  FOR screen, recovery IN 1..1 OUTBOUND screen_group GRAPH 'global_recovery'
    SORT recovery.recovery_priority, recovery.reliability DESC, recovery.expected_ms, recovery.sort_key
    LIMIT @most
    RETURN {
      group: screen_group.sort_key,
      recovery: recovery.sort_key,
      to_screen: recovery.target_id,
      priority: recovery.recovery_priority,
      reliability: recovery.reliability,
      expected_ms: recovery.expected_ms
    }
"""

# "Graph traversals in AQL: uniqueVertices 'global'", which needs `order: 'bfs'` or 'weighted':
# every task once, at its least depth.
COMPOSITION = """
FOR task, dependency, path IN 1..@hops OUTBOUND @task GRAPH 'task_composition'
  OPTIONS {order: 'bfs', uniqueVertices: 'global'}
  LET depth = LENGTH(path.edges)
  SORT depth, task.sort_key
  RETURN {name: task.sort_key, depth: depth}
"""

# "Graph traversals in AQL: PRUNE": a way ends where another kind of action would be needed.
REACHED_BY_ACTION = """
FOR screen, edge, path IN 1..@hops OUTBOUND @start GRAPH 'navigation'
  PRUNE edge != null AND edge.action_type != @action_type
  OPTIONS {order: 'bfs', uniqueVertices: 'path'}
  FILTER path.edges[*].action_type ALL == @action_type
  COLLECT name = screen.sort_key AGGREGATE depth = MIN(LENGTH(path.edges))
  SORT depth, name
  RETURN {name: name, depth: depth}
"""
