package s3

import (
	"fmt"
	"testing"

	"github.com/shadercache/shadercache/fleet/remotetest"
)

func TestSlow(t *testing.T) {
	at := func(address string) string {
		return "s3://tester:" + remotetest.Password + "@packs/cache?endpoint=http://" + address
	}
	remotetest.Slow(t, at, func(n int) string {
		return remotetest.Page("application/xml", fmt.Sprintf("<ListBucketResult><IsTruncated>true</IsTruncated>"+
			"<NextContinuationToken>%d</NextContinuationToken></ListBucketResult>", n))
	})
}
