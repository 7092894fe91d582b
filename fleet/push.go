package fleet

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/fleet/pack"
	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

// PushOptions select what Push sends.
type PushOptions struct {
	Fingerprints []shader.Digest // default: all of the directory
	Sources      bool            // default: packs have no sources
	Replace      bool            // writes a new head without the packs of the present one, which is not read
	Refresh      bool            // writes a new head, which ends later, also where nothing is new
	Progress     func(done, total int64)
}

// PushReport is the result of a push.
type PushReport struct {
	Heads    int   `json:"heads"` // changed
	Packs    int   `json:"packs"` // written
	Bytes    int64 `json:"bytes"`
	Programs int   `json:"programs"` // that the remote lacked

	DriverFiles int `json:"driver_files"` // of machine code, that the remote lacked

	Sequence uint64 `json:"sequence"` // of the last head that was changed; 0 = none was
}

// Push adds what the heads lack, as one pack for each driver, and compacts many small packs
// into one. Packs have verified program binaries and machine code only: no sources unless
// they are requested, and no program in quarantine. Where nothing is new it writes nothing.
// A push that is interrupted leaves the old head, or the new one; a pack that no head
// lists is deleted by Prune. Push does not consult the mode and the breaker. A head that
// is refused is not changed, and holds up no other driver: the error matches ErrRefused.
func (r *Remote) Push(ctx context.Context, o PushOptions) (report PushReport, err error) {
	ctx, end := r.begin(ctx, "push to", &err)
	defer end()
	if err := r.checkWriter(); err != nil {
		return report, err
	}
	infos, err := r.dir.Drivers()
	if err != nil {
		return report, err
	}
	if len(infos) == 0 && r.dir.DriverBytes() > 0 {
		return report, errors.New("the cache has machine code and no program, which would name the driver: Identify of its Store does (hint: shadercache push, where OpenGL works)")
	}
	var nameless, refused error
	pushed := 0
	for _, info := range infos {
		if len(o.Fingerprints) > 0 && !slices.Contains(o.Fingerprints, info.Digest) {
			continue
		}
		if info.Fingerprint.Digest() != info.Digest {
			nameless = errors.Join(nameless, fmt.Errorf("%s: its fingerprint.json is damaged or missing, and no other file names the driver; the next start with this driver writes it", info.Dir))
			continue
		}
		pushed++
		p := pusher{r: r, options: o, driver: info.Fingerprint, of: info.Digest, report: &report}
		switch err := p.run(ctx); {
		case errors.Is(err, ErrRefused):
			refused = errors.Join(refused, err)
			continue
		case err != nil:
			return report, err
		}
		if err := ignoreMissing(r.compactMany(ctx, info.Digest)); err != nil {
			r.warn("packs were not compacted; the next push does it", err)
		}
		r.endLease(info.Digest)
	}
	if refused != nil {
		return report, errors.Join(refused, nameless)
	}
	r.succeed()
	if len(o.Fingerprints) > 0 || pushed == 0 {
		return report, nameless
	}
	r.warn("the programs of a driver were not pushed", nameless)
	return report, nil
}

// checkWriter returns an error for settings with which the own heads would be refused.
func (r *Remote) checkWriter() error {
	switch {
	case r.backend == nil:
		return errOff
	case r.options.SignKey == nil && !r.options.Unsigned:
		return fmt.Errorf("there is no private key to sign the head with; give one (shadercache keygen makes a pair, %s names it), or accept unsigned heads in so many words", signVariable)
	}
	return nil
}

// pusher pushes the programs of one driver.
type pusher struct {
	r       *Remote
	options PushOptions
	driver  binary.Fingerprint
	of      shader.Digest
	report  *PushReport

	had     int           // programs of the head that is replaced
	written shader.Digest // the pack that was written last
	lost    int           // how often the store did not have it then
}

const (
	// pushAttempts limits the number of heads that other writers write meanwhile.
	pushAttempts = 100
	// maxLost limits how often a pack is written that a prune deletes, or a store does not keep.
	maxLost = 5
)

func (p *pusher) run(ctx context.Context) error {
	return retryChanged(ctx, func() error { return p.attempt(ctx) })
}

// retryChanged calls do again while other writers are faster.
func retryChanged(ctx context.Context, do func() error) error {
	for attempt := range pushAttempts {
		err := do()
		if !errors.Is(err, ErrChanged) {
			return err
		}
		if err := pause(ctx, retryPause(attempt)); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: other writers changed the head %d times", ErrChanged, pushAttempts)
}

// retryPause returns a random time, so that writers do not meet again.
func retryPause(attempt int) time.Duration {
	return time.Duration(1+rand.Int64N(int64(min(attempt+1, 20)))) * 5 * time.Millisecond
}

// pause waits, unless ctx ends before.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// attempt adds what the present head lacks. It returns ErrChanged, wrapped, where another
// writer changed the head meanwhile.
func (p *pusher) attempt(ctx context.Context) error {
	forgotten := p.r.state.driver(p.of).Forgotten
	list, object, err := p.r.readKeys(ctx)
	if err != nil {
		return err
	}
	p.r.putKeysBack(ctx, list, object)
	old, err := p.oldHead(ctx)
	if err != nil {
		return err
	}
	head := *old.Head
	known, err := p.known(ctx, &head)
	if err != nil {
		return err
	}
	made, err := p.makePack(ctx, known)
	if err == nil {
		defer made.close()
	}
	empty := errors.Is(err, pack.ErrEmpty)
	loses := empty || err == nil && made.Programs == 0 && p.had > 0
	if p.options.Replace && len(p.options.Fingerprints) == 0 && old.object != nil && loses {
		return fmt.Errorf("there is no program to send for driver %s, which the remote has: --fingerprint chooses the drivers to replace, also this one as %s", p.driver.DirName(), p.of.Short())
	}
	if empty {
		return p.dropLost(ctx, old, &head)
	}
	if err != nil {
		return err
	}
	if head.digests()[made.SHA256] { // what is known of it here was damaged
		p.r.state.putItems(p.of, made.SHA256, made.items)
		return p.dropLost(ctx, old, &head)
	}
	if len(head.Packs) == maxPacks {
		compacted, err := p.r.compact(ctx, p.of, smallPacks)
		if err != nil || compacted.Heads > 0 {
			return cmp.Or(err, ErrChanged)
		}
	}
	old.Packs = head.Packs // without those that are lost: a new one may have the bytes of such a one
	if err := p.upload(ctx, made); err != nil {
		return err
	}
	head.Packs = append(head.Packs[:len(head.Packs):len(head.Packs)], made.Pack)
	if err := p.r.writeHead(ctx, old, &head); err != nil {
		if errors.Is(err, ErrNotFound) { // the pack that was written
			if p.written, p.lost = (shader.Digest{}), p.lost+1; p.lost == maxLost {
				return fmt.Errorf("%w: the store took the pack %d times, and does not have it: %v", ErrProtocol, maxLost, err)
			}
		}
		return err
	}
	p.report.Heads++
	p.report.Programs += made.Programs
	p.report.DriverFiles += made.DriverFiles
	p.report.Sequence = head.Sequence
	p.r.state.putItems(p.of, made.SHA256, made.items)
	p.r.note(p.r.markInstalled(&head, forgotten, made.SHA256))
	return nil
}

// dropLost writes a head without the packs that are lost, if there are any, one with a newer list
// of keys, one that only ends later, or, of a driver that is named, an empty one in place of another.
func (p *pusher) dropLost(ctx context.Context, old *fetched, h *Head) error {
	line, _ := cutKeys(old.object)
	newer := old.keys != nil && !bytes.Equal(line, old.keys.line)
	if len(h.Packs) == len(old.Packs) && !newer && !((p.options.Refresh || p.options.Replace) && old.object != nil) {
		return nil
	}
	if err := p.r.writeHead(ctx, old, h); err != nil {
		return err
	}
	p.report.Heads++
	p.report.Sequence = h.Sequence
	return nil
}

// oldHead returns the head to change, which is a new one where there is none.
func (p *pusher) oldHead(ctx context.Context) (*fetched, error) {
	empty := &fetched{Head: &Head{Schema: headSchema, Fingerprint: p.of, Driver: p.driver, Packs: []Pack{}}}
	if p.options.Replace {
		object, err := p.r.readListed(ctx, headName(p.of), maxHeadBytes)
		if errors.Is(err, ErrUnreachable) { // a second one that ends early is damaged for good
			object, err = p.r.readListed(ctx, headName(p.of), maxHeadBytes)
		}
		if err == nil || errors.Is(err, ErrRefused) || object.tag != "" {
			empty.tag, empty.clock, empty.object, err = object.tag, object.clock, []byte{}, nil
			h := p.r.claimedHead(object, p.of)
			if p.had = 1; h != nil { // what cannot be read may have programs
				empty.Epoch, empty.Sequence, p.had = h.Epoch, h.Sequence, h.Programs()
				empty.Packs, empty.Retired = h.Packs, h.Retired
				empty.retireAll(p.r.now())
			}
		}
		return empty, ignoreMissing(err)
	}
	old, err := p.r.readToChange(ctx, p.of)
	switch {
	case errors.Is(err, ErrNotFound):
		return empty, nil
	case err == nil && !p.options.Refresh && p.r.mayBePutBack(old):
		p.r.warn("what a head lists that this machine does not know is left out", old.checkEnd(p.r.now()))
		old.retireAll(p.r.now())
	}
	return old, err
}

// claimedHead returns a head that is replaced, whoever wrote it, and nil for what this version cannot read:
// readers may have seen its number. One that is not signed by a key that counts, and that no clock or
// list of keys has, is not taken, as later ones would have to be above it.
func (r *Remote) claimedHead(object small, of shader.Digest) *Head {
	seen := r.state.driver(of)
	if valid, err := r.openHead(object, of, seen); err == nil && r.checkToChange(valid) == nil {
		return valid.Head
	}
	_, signed := cutKeys(object.data)
	_, content, _ := bytes.Cut(signed, []byte("\n"))
	h, err := decodeHead(content, of)
	if err != nil {
		return nil
	}
	list, _ := r.seenKeys()
	h.Epoch = min(h.Epoch, max(cmp.Or(list, &KeyList{}).Epoch, seen.Epoch))
	if h.Sequence > uint64(r.now().Add(maxClockError).UnixMilli()) {
		h.Epoch, h.Sequence = 0, 0
	}
	return h
}

// madePack is a pack in a temporary file.
type madePack struct {
	Pack
	file    *os.File
	items   []pack.Item
	leftOut []pack.LeftOut
}

func (m *madePack) close() { _ = osfile.CloseUnnamed(m.file) }

// makePack exports what is not known. It returns pack.ErrEmpty, wrapped, where there is
// nothing.
func (p *pusher) makePack(ctx context.Context, known map[pack.Item]struct{}) (*madePack, error) {
	made, err := exportPack(ctx, p.r.dir, pack.ExportOptions{
		Fingerprints: []shader.Digest{p.of},
		NoSources:    !p.options.Sources,
		Without:      known,
	})
	if err == nil {
		for _, out := range made.leftOut {
			p.r.warn("a file is left out of the pack", fmt.Errorf("%s: %s", out.Path, out.Reason))
		}
	}
	return made, err
}

// exportPack exports a pack to a temporary file.
func exportPack(ctx context.Context, dir *binary.Dir, o pack.ExportOptions) (made *madePack, err error) {
	file, err := osfile.CreateUnnamed("shadercache-pack-*")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = osfile.CloseUnnamed(file)
		}
	}()
	o.Done = ctx.Done()
	sum := sha256.New()
	report, err := pack.Export(io.MultiWriter(file, sum), dir, o)
	if err != nil {
		return nil, err
	}
	size, err := file.Seek(0, io.SeekCurrent)
	return &madePack{file: file, items: report.Items, leftOut: report.LeftOut, Pack: Pack{
		SHA256:      shader.Digest(sum.Sum(nil)),
		Size:        size,
		Unpacked:    report.Bytes,
		Programs:    report.Programs,
		DriverFiles: report.DriverFiles,
		Saves:       min(report.Saves, maxSaves),
	}}, err
}

// upload writes a pack, unless the attempt before has written the same.
func (p *pusher) upload(ctx context.Context, made *madePack) error {
	if made.SHA256 == p.written {
		return nil
	}
	if err := p.r.putPack(ctx, p.of, made, p.options.Progress); err != nil {
		return err
	}
	p.written = made.SHA256
	p.report.Packs++
	p.report.Bytes += made.Size
	return nil
}

// putPack writes a pack.
func (r *Remote) putPack(ctx context.Context, of shader.Digest, made *madePack, progress func(done, total int64)) error {
	if _, err := made.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	data := &progressSeeker{made.file, made.Size, progress}
	if _, err := r.backend.Put(ctx, packName(of, made.SHA256), data, PutOptions{Size: made.Size}); err != nil {
		return fmt.Errorf("pack %s: %w", made.SHA256.Short(), err)
	}
	return nil
}

// progressSeeker is a file that reports how far it was read.
type progressSeeker struct {
	io.ReadSeeker
	total    int64
	progress func(done, total int64)
}

func (s *progressSeeker) Read(b []byte) (int, error) {
	n, err := s.ReadSeeker.Read(b)
	if s.progress != nil && n > 0 {
		if done, seekErr := s.Seek(0, io.SeekCurrent); seekErr == nil {
			s.progress(done, s.total)
		}
	}
	return n, err
}
