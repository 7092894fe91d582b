package imaging

import (
	"image"
	"image/draw"
)

// sheetColumns is the number of pictures in a row of a contact sheet.
const sheetColumns = 2

// Sheet puts pictures of one size on a contact sheet, two in a row, in order:
// for [Filters], edge and blur above sharpen and emboss. Where their number is
// odd the last place stays transparent. It panics without a picture.
func Sheet(pictures []*image.NRGBA) *image.NRGBA {
	if len(pictures) == 0 {
		panic("imaging: a contact sheet needs a picture")
	}
	size := pictures[0].Rect.Size()
	columns := min(len(pictures), sheetColumns)
	rows := (len(pictures) + columns - 1) / columns
	sheet := image.NewNRGBA(image.Rect(0, 0, columns*size.X, rows*size.Y))
	for i, p := range pictures {
		corner := image.Pt(i%columns*size.X, i/columns*size.Y)
		place := image.Rectangle{Min: corner, Max: corner.Add(size)}
		draw.Draw(sheet, place, p, p.Rect.Min, draw.Src)
	}
	return sheet
}
