package cache

// Nothing has every power and keeps nothing: tests embed it.
type Nothing = nothing
