"""A rule book of your own: who is by the stage says only which cell it is in, and others where they are."""

from bypass import RuleBook

BOOK = RuleBook.from_yaml("""
rules:
  - rule: by-the-stage
    on: location
    when: place == 'stage' and scheme == 'radial'
    plan: {actions: [{proxy: filter, to: hexagons, members: ["{client}"], set: {side: 25}}]}
  - rule: elsewhere
    on: location
    when: place == None and scheme == 'hexagons'
    plan: {actions: [{proxy: filter, to: radial, members: ["{client}"]}]}
""")
