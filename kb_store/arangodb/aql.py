"""All AQL texts, with the page of the ArangoDB 3.12 documentation that each relies on.

All values are bound (`@x`, and `@@x` for collections); no text is composed of values. Names of graphs and the
attributes in `OPTIONS` are written out, so there is one text per objective: the documentation promises bind
parameters for values and collections, not for options.
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
# of the functions LOG, MIN, MAX, POW and NOT_NULL "Numeric" and "Miscellaneous" (aql/functions).
# The reliability is `kb_store.learned.learned_numbers.posterior` and the duration `expected_ms`; NOT_NULL keeps the
# authored values of an edge without observations. The best recovery edge is chosen as RECOVERY_PATHS sorts.
WEIGH_TRANSITIONS = """
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
    LET kept = POW(2, MIN([0, NOT_NULL(learned.day, @today) - @today]) / @half_life_days)
    LET succeeded = NOT_NULL(learned.succeeded, 0) * kept
    LET failed = NOT_NULL(learned.failed, 0) * kept
    LET believed = (edge.authored_reliability * @prior + succeeded) / (@prior + succeeded + failed)
    LET reliability = MIN([1, MAX([0, believed])])
    LET known = NOT_NULL(learned.timed, 0) >= @enough AND learned.timed_weight * kept > @least_weight
    LET ms = known ? learned.timed_sum / learned.timed_weight : edge.authored_ms
    LET r = MAX([@least, reliability])
    UPDATE edge WITH {
      reliability: reliability,
      expected_ms: ms,
      weight_fastest: ms,
      weight_reliable: MAX([0, 0 - LOG(r)]),
      weight_balanced: ms + (1 - r) / r * (ms + NOT_NULL(back, @no_recovery_ms))
    } IN @@transitions
"""

# As WEIGH_TRANSITIONS, without weights: recovery edges are sorted by their reliability and duration.
WEIGH_RECOVERIES = """
FOR edge IN @@recoveries
  FILTER edge._from IN @groups
  LET learned = FIRST(
    FOR row IN @@learned
      FILTER row._key == edge.learned_key
      RETURN row
  )
  LET kept = POW(2, MIN([0, NOT_NULL(learned.day, @today) - @today]) / @half_life_days)
  LET succeeded = NOT_NULL(learned.succeeded, 0) * kept
  LET failed = NOT_NULL(learned.failed, 0) * kept
  LET believed = (edge.authored_reliability * @prior + succeeded) / (@prior + succeeded + failed)
  LET known = NOT_NULL(learned.timed, 0) >= @enough AND learned.timed_weight * kept > @least_weight
  UPDATE edge WITH {
    reliability: MIN([1, MAX([0, believed])]),
    expected_ms: known ? learned.timed_sum / learned.timed_weight : edge.authored_ms
  } IN @@recoveries
"""

# "RETURN DISTINCT" (aql/high-level-operations/return), over the index on website and sort_key: the
# starts of edges of these names, in every generation there is.
STARTS_OF_EDGES = """
FOR edge IN @@edges
  FILTER edge.website_id == @website AND edge.sort_key IN @names
  RETURN DISTINCT edge._from
"""

# -- learned numbers

# "INSERT operation: overwriteMode" (aql/high-level-operations/insert): existing documents stay.
BEGIN_LEARNING = """
INSERT {
  _key: @key, website_id: @website, kind: @kind, name: @name, day: @day, succeeded: 0, failed: 0,
  seen: 0, timed: 0, timed_weight: 0, timed_sum: 0, buckets: [], ticket: 0, origin: @origin, copied: []
} INTO @@learned
OPTIONS {overwriteMode: 'ignore'}
"""

# Pages "INSERT operation" and "UPDATE operation: ignoreRevs" (aql/high-level-operations), of the
# function APPEND "Array" (aql/functions). `kb_store.learned.learned_numbers.merge` in one statement, so one transaction on a single
# server: the outcome's key is unique, and where it is there already the statement fails with 1210
# and changes nothing. A counter that changed since it was read fails it with 1200, and it is sent
# again. The weights follow in the same stream transaction.
COUNT_OUTCOME = """
INSERT {_key: @outcome, website_id: @website, outcome_id: @outcome_id, expires_at: @expires_at} INTO @@outcomes
FOR counter IN @@learned
  FILTER counter._key == @key
  LET theirs = POW(2, MIN([0, counter.day - @day]) / @half_life_days)
  LET mine = POW(2, MIN([0, @day - counter.day]) / @half_life_days)
  LET buckets = (
    FOR bucket IN counter.buckets
      RETURN {at: bucket.at, weight: bucket.weight * theirs + (bucket.at == @bucket ? mine : 0)}
  )
  LET fresh = @timed == 0 OR @bucket IN counter.buckets[*].at ? [] : [{at: @bucket, weight: mine}]
  UPDATE counter WITH {
    day: MAX([counter.day, @day]),
    succeeded: counter.succeeded * theirs + @succeeded * mine,
    failed: counter.failed * theirs + @failed * mine,
    seen: counter.seen + 1,
    timed: counter.timed + @timed,
    timed_weight: counter.timed_weight * theirs + @timed * mine,
    timed_sum: counter.timed_sum * theirs + @ms * mine,
    buckets: APPEND(buckets, fresh),
    ticket: MAX([counter.ticket, @ticket])
  } IN @@learned OPTIONS {ignoreRevs: false}
"""

# "FILTER operation" (aql/high-level-operations/filter), over the index on website and kind.
LEARNED = """
FOR row IN @@learned
  FILTER row.website_id == @website AND row.kind == @kind
  RETURN row
"""

# "REMOVE operation" (aql/high-level-operations/remove).
FORGET = """
FOR row IN @@learned
  FILTER row._key IN @keys
  REMOVE row IN @@learned
"""

# "FILTER operation", over the index on website and ticket. Elements are in no path.
LEARNED_SINCE = """
FOR row IN @@learned
  FILTER row.website_id == @website AND row.ticket > @ticket AND row.kind != 'element'
  RETURN row
"""

# "FILTER operation", over the index on website and kind; "SORT" and "LIMIT" for pages.
KEPT = """
FOR row IN @@learned
  FILTER row.website_id == @website AND row._key > @after
  SORT row._key
  LIMIT @page
  RETURN row
"""

# As KNOWN_KEYS, with the rows.
# "COLLECT operation: grouping and WITH COUNT INTO" (aql/high-level-operations/collect).
LEARNED_COUNTS = """
FOR row IN @@learned
  FILTER row.website_id == @website
  COLLECT kind = row.kind WITH COUNT INTO rows
  RETURN {kind: kind, rows: rows}
"""

KEPT_OF = """
FOR row IN @@learned
  FILTER row._key IN @keys
  RETURN row
"""

COUNTED_IDS = """
FOR row IN @@outcomes
  FILTER row.website_id == @website AND row.expires_at > @now AND row._key > @after
  SORT row._key
  LIMIT @page
  RETURN row
"""

# -- tickets (`kb_store.learned.change_cursor`)

# "INSERT operation: overwriteMode" (aql/high-level-operations/insert): existing documents stay.
BEGIN_TICKETS = """
INSERT {_key: @key, website_id: @website, drawn: 0, raised: 0, forgotten: 0, out: []} INTO @@revisions
OPTIONS {overwriteMode: 'ignore'}
"""

# Pages "UPDATE operation: ignoreRevs" and "RETURN NEW" (aql/high-level-operations/update), function
# DATE_NOW "Date" (aql/functions/date): milliseconds by the server's clock. A document that changed
# since it was read fails the statement with 1200, and it is sent again.
DRAW_TICKET = """
FOR row IN @@revisions
  FILTER row._key == @key
  LET others = (
    FOR each IN row.out
      FILTER each.until > DATE_NOW()
      RETURN each
  )
  UPDATE row WITH {
    drawn: row.drawn + 1,
    out: APPEND(others, [{ticket: row.drawn + 1, until: DATE_NOW() + @lifetime_ms}])
  } IN @@revisions OPTIONS {ignoreRevs: false}
  RETURN NEW.drawn
"""

HAND_BACK_TICKET = """
FOR row IN @@revisions
  FILTER row._key == @key
  UPDATE row WITH {
    raised: row.raised + @raised,
    out: (
      FOR each IN row.out
        FILTER each.ticket != @ticket
        RETURN each
    )
  } IN @@revisions OPTIONS {ignoreRevs: false}
"""

COUNT_FORGETTING = """
FOR row IN @@revisions
  FILTER row._key == @key
  UPDATE row WITH {raised: row.raised + 1, forgotten: row.forgotten + 1} IN @@revisions
    OPTIONS {ignoreRevs: false}
"""

# "FILTER operation", over the primary index. Expired tickets do not count.
TICKETS = """
FOR row IN @@revisions
  FILTER row._key == @key
  LET out = (
    FOR each IN row.out
      FILTER each.until > DATE_NOW()
      RETURN each.ticket
  )
  RETURN {drawn: row.drawn, raised: row.raised, forgotten: row.forgotten, out: out}
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
FEWEST_FILTERED_PATHS = """
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

FASTEST_FILTERED_PATHS = """
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

RELIABLE_FILTERED_PATHS = """
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

BALANCED_FILTERED_PATHS = """
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

# "Graph traversals in AQL" and, over the edge index, a join: a recovery edge may lead to the current
# screen, which is no vertex, and a traversal warns of vertices it does not find. Sorted over all
# groups at once, and only by numbers that every recovery edge has: null would sort first.
RECOVERY_PATHS = """
FOR screen_group IN 1..1 OUTBOUND @screen GRAPH 'group_membership'
  FOR recovery IN @@recoveries
    FILTER recovery._from == screen_group._id
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
# every screen once, at its least depth.
REACHED = """
FOR screen, edge, path IN 1..@hops OUTBOUND @start GRAPH 'navigation'
  OPTIONS {order: 'bfs', uniqueVertices: 'global'}
  LET depth = LENGTH(path.edges)
  SORT depth, screen.sort_key
  RETURN {name: screen.sort_key, depth: depth}
"""

REACHING = """
FOR screen, edge, path IN 1..@hops INBOUND @start GRAPH 'navigation'
  OPTIONS {order: 'bfs', uniqueVertices: 'global'}
  LET depth = LENGTH(path.edges)
  SORT depth, screen.sort_key
  RETURN {name: screen.sort_key, depth: depth}
"""

# "Graph traversals in AQL: PRUNE": a path ends where a different action type would be needed.
REACHED_BY_ACTION = """
FOR screen, edge, path IN 1..@hops OUTBOUND @start GRAPH 'navigation'
  PRUNE edge != null AND edge.action_type != @action_type
  OPTIONS {order: 'bfs', uniqueVertices: 'path'}
  FILTER path.edges[*].action_type ALL == @action_type
  COLLECT name = screen.sort_key AGGREGATE depth = MIN(LENGTH(path.edges))
  SORT depth, name
  RETURN {name: name, depth: depth}
"""

REACHING_BY_ACTION = """
FOR screen, edge, path IN 1..@hops INBOUND @start GRAPH 'navigation'
  PRUNE edge != null AND edge.action_type != @action_type
  OPTIONS {order: 'bfs', uniqueVertices: 'path'}
  FILTER path.edges[*].action_type ALL == @action_type
  COLLECT name = screen.sort_key AGGREGATE depth = MIN(LENGTH(path.edges))
  SORT depth, name
  RETURN {name: name, depth: depth}
"""
