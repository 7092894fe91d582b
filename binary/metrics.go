package binary

import (
	"cmp"
	"reflect"
	"strings"
)

// EachMetric calls show with each counter under its name for monitoring, without a prefix,
// such as compiles_total, and with a sentence: times in seconds, as Prometheus wants them.
// The name is that in JSON, unless a tag has another one.
func (c Counters) EachMetric(show func(name, help string, value float64)) {
	values := reflect.ValueOf(c)
	for i := range values.NumField() {
		var value float64
		tag, v := values.Type().Field(i).Tag, values.Field(i)
		if v.CanUint() {
			value = float64(v.Uint())
		} else {
			value = float64(v.Int())
		}
		name, isTime := strings.CutSuffix(tag.Get("json"), "_ns")
		if isTime {
			name, value = name+"_seconds", max(value, 0)/1e9
		}
		show(cmp.Or(tag.Get("metric"), name+"_total"), tag.Get("help"), value)
	}
}
