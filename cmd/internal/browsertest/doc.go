// Package browsertest opens pages in a real browser, headless Chromium, for tests: it
// reads what a page shows, presses keys, takes screenshots, and collects what the page
// reports as an error.
//
// It speaks the browser's DevTools protocol over a pipe, messages of JSON that end with a
// zero byte (chromedevtools.github.io/devtools-protocol). Where no Chromium is installed
// the test is skipped, unless SHADERCACHE_REQUIRE_GL or CI is set.
package browsertest
