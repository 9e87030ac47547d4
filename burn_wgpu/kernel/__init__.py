"""Plans: pure functions from shapes, dtypes and a `Capability` to a frozen `Plan`. Nothing is allocated or run.

May import: shader, std. One file a family, named as in shaders/. Two algorithms are two shader files and a choice here.
Add a faster algorithm as a shader file and a branch in the plan that chooses it; tests of plans are equalities.
"""
