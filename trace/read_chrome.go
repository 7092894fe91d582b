package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// maxFile bounds the files that ReadChrome reads: 200,000 events take 60 MB.
const maxFile = 256 << 20

// ErrFormat is returned for a file that WriteChrome did not write.
var ErrFormat = errors.New("not a trace of shadercache")

// ReadChrome reads what WriteChrome wrote. Each row of the file is one task. It returns
// ErrFormat, wrapped, for anything else.
func ReadChrome(r io.Reader) (Recording, error) {
	limited := &io.LimitedReader{R: r, N: maxFile}
	var f chromeFile
	if err := json.NewDecoder(limited).Decode(&f); err != nil {
		if limited.N <= 0 {
			return Recording{}, fmt.Errorf("trace: read: %w: it is larger than %d bytes", ErrFormat, maxFile)
		}
		return Recording{}, fmt.Errorf("trace: read: %w: %w", ErrFormat, err)
	}
	began, err := time.Parse(time.RFC3339Nano, text(f.OtherData[dataOrigin]))
	if err != nil {
		return Recording{}, fmt.Errorf("trace: read: %w: no time of its begin", ErrFormat)
	}
	recording := Recording{Began: began, Ended: began.Add(nanos(number(f.OtherData[dataTook]))),
		Executable: text(f.OtherData[dataName]), Dropped: uint64(number(f.OtherData[dataDrops]))}
	for _, name := range slices.Sorted(maps.Keys(f.OtherData)) {
		switch name {
		case dataOrigin, dataTook, dataName, dataDrops:
		default:
			recording.About = append(recording.About, Attr{name, f.OtherData[name]})
		}
	}
	for _, e := range f.Events {
		recording.PID = e.Process
		if e.Phase == "X" || e.Phase == "i" {
			recording.Events = append(recording.Events, eventOf(began, e))
		}
	}
	slices.SortStableFunc(recording.Events, byBegin)
	return recording, nil
}

func eventOf(began time.Time, c chromeEvent) Event {
	e := Event{Lane: Lane(c.Category), Task: uint64(max(c.Thread, 0)), Name: c.Name,
		Begin: began.Add(nanos(c.Time)), Instant: c.Phase == "i"}
	if c.Duration != nil {
		e.Took = nanos(*c.Duration)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Args)) {
		switch value := c.Args[name]; name {
		case argProgram:
			e.Program = text(value)
		case argKey:
			e.Key = text(value)
		default:
			e.Attrs = append(e.Attrs, Attr{name, value})
		}
	}
	return e
}

// text returns a value that is a string, else "".
func text(value any) string {
	s, _ := value.(string)
	return strings.ToValidUTF8(s, "?")
}

func number(value any) float64 {
	n, _ := value.(float64)
	return n
}

func nanos(micros float64) time.Duration { return time.Duration(micros * 1e3) }
