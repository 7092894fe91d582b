package fleet

import (
	"errors"

	"github.com/shadercache/shadercache/trace"
)

// endPull ends the region of a pull with what it brought.
func endPull(region *trace.Region, report PullReport, err error) {
	attrs := []trace.Attr{trace.Int("packs", int64(report.Packs)), trace.Int("bytes", report.Bytes),
		trace.Int("programs", int64(report.Programs))}
	switch {
	case errors.Is(err, ErrNotFound):
		attrs = append(attrs, trace.String("outcome", "missing"))
	case err != nil:
		attrs = append(attrs, trace.String("outcome", classify(err))) // the text may have a secret
	}
	region.End(attrs...)
}
