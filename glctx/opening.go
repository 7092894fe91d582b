package glctx

// Options returns the options that the context was opened with.
func (c *Context) Options() Options { return c.options }

// markOpening marks in the cache directory that the driver makes a context, and warns of
// processes that ended meanwhile. opened must be called when it is made, or failed.
func (c *Context) markOpening() (opened func(success bool)) {
	if c.options.DriverCacheOff {
		return func(bool) {} // this context may be for a command that only reads
	}
	dir := c.options.place().Open().Dir
	if dir == nil {
		return func(bool) {} // the cache reports it
	}
	if deaths := dir.DeathsWhileOpening(); deaths > 0 {
		c.logger.Warn("processes ended while the driver made a GL context, the last ones in a row; a driver may crash there",
			"processes", deaths, "directory", dir.Path(), "hint", "shadercache doctor")
	}
	return dir.MarkOpening()
}
