package glctx

import "errors"

// PassDriverCacheOn keeps the driver's own cache from being merged while the
// program runs that takes this process's place by exec, as it is kept while this
// process runs: without it the hold ends at exec. Call it after
// ManageDriverCache. An error means that the hold ends there; the program then
// costs at worst what it adds to the driver's cache during a merge.
func PassDriverCacheOn() error {
	driverCache.Lock()
	defer driverCache.Unlock()
	if sharedDriverCache == nil {
		return errors.New("glctx: pass the driver cache on: this process does not hold it")
	}
	return sharedDriverCache.PassOn()
}
