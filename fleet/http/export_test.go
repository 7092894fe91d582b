package http

// Open is the opener that is registered for http and https.
var Open = openURL
