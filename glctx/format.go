package glctx

import (
	"github.com/shadercache/shadercache/glctx/internal/gl45"
	"github.com/shadercache/shadercache/job/texel"
)

// glFormat is what GL calls a format.
type glFormat struct {
	internal   uint32
	client     uint32 // format of the components on the host
	clientType uint32 // type of the same
}

// formats has every format.
var formats = [...]glFormat{
	texel.RGBA32F:     {gl45.RGBA32F, gl45.RGBA, gl45.FLOAT},
	texel.RG32F:       {gl45.RG32F, gl45.RG, gl45.FLOAT},
	texel.R32F:        {gl45.R32F, gl45.RED, gl45.FLOAT},
	texel.RGBA16F:     {gl45.RGBA16F, gl45.RGBA, gl45.HALF_FLOAT},
	texel.RG16F:       {gl45.RG16F, gl45.RG, gl45.HALF_FLOAT},
	texel.R16F:        {gl45.R16F, gl45.RED, gl45.HALF_FLOAT},
	texel.R11G11B10F:  {gl45.R11F_G11F_B10F, gl45.RGB, gl45.UNSIGNED_INT_10F_11F_11F_REV},
	texel.RGBA16:      {gl45.RGBA16, gl45.RGBA, gl45.UNSIGNED_SHORT},
	texel.RG16:        {gl45.RG16, gl45.RG, gl45.UNSIGNED_SHORT},
	texel.R16:         {gl45.R16, gl45.RED, gl45.UNSIGNED_SHORT},
	texel.RGB10A2:     {gl45.RGB10_A2, gl45.RGBA, gl45.UNSIGNED_INT_2_10_10_10_REV},
	texel.RGBA8:       {gl45.RGBA8, gl45.RGBA, gl45.UNSIGNED_BYTE},
	texel.RG8:         {gl45.RG8, gl45.RG, gl45.UNSIGNED_BYTE},
	texel.R8:          {gl45.R8, gl45.RED, gl45.UNSIGNED_BYTE},
	texel.RGBA16Snorm: {gl45.RGBA16_SNORM, gl45.RGBA, gl45.SHORT},
	texel.RG16Snorm:   {gl45.RG16_SNORM, gl45.RG, gl45.SHORT},
	texel.R16Snorm:    {gl45.R16_SNORM, gl45.RED, gl45.SHORT},
	texel.RGBA8Snorm:  {gl45.RGBA8_SNORM, gl45.RGBA, gl45.BYTE},
	texel.RG8Snorm:    {gl45.RG8_SNORM, gl45.RG, gl45.BYTE},
	texel.R8Snorm:     {gl45.R8_SNORM, gl45.RED, gl45.BYTE},
	texel.RGBA32I:     {gl45.RGBA32I, gl45.RGBA_INTEGER, gl45.INT},
	texel.RG32I:       {gl45.RG32I, gl45.RG_INTEGER, gl45.INT},
	texel.R32I:        {gl45.R32I, gl45.RED_INTEGER, gl45.INT},
	texel.RGBA16I:     {gl45.RGBA16I, gl45.RGBA_INTEGER, gl45.SHORT},
	texel.RG16I:       {gl45.RG16I, gl45.RG_INTEGER, gl45.SHORT},
	texel.R16I:        {gl45.R16I, gl45.RED_INTEGER, gl45.SHORT},
	texel.RGBA8I:      {gl45.RGBA8I, gl45.RGBA_INTEGER, gl45.BYTE},
	texel.RG8I:        {gl45.RG8I, gl45.RG_INTEGER, gl45.BYTE},
	texel.R8I:         {gl45.R8I, gl45.RED_INTEGER, gl45.BYTE},
	texel.RGBA32UI:    {gl45.RGBA32UI, gl45.RGBA_INTEGER, gl45.UNSIGNED_INT},
	texel.RG32UI:      {gl45.RG32UI, gl45.RG_INTEGER, gl45.UNSIGNED_INT},
	texel.R32UI:       {gl45.R32UI, gl45.RED_INTEGER, gl45.UNSIGNED_INT},
	texel.RGBA16UI:    {gl45.RGBA16UI, gl45.RGBA_INTEGER, gl45.UNSIGNED_SHORT},
	texel.RG16UI:      {gl45.RG16UI, gl45.RG_INTEGER, gl45.UNSIGNED_SHORT},
	texel.R16UI:       {gl45.R16UI, gl45.RED_INTEGER, gl45.UNSIGNED_SHORT},
	texel.RGBA8UI:     {gl45.RGBA8UI, gl45.RGBA_INTEGER, gl45.UNSIGNED_BYTE},
	texel.RG8UI:       {gl45.RG8UI, gl45.RG_INTEGER, gl45.UNSIGNED_BYTE},
	texel.R8UI:        {gl45.R8UI, gl45.RED_INTEGER, gl45.UNSIGNED_BYTE},
	texel.RGB10A2UI:   {gl45.RGB10_A2UI, gl45.RGBA_INTEGER, gl45.UNSIGNED_INT_2_10_10_10_REV},
	texel.SRGB8A8:     {gl45.SRGB8_ALPHA8, gl45.RGBA, gl45.UNSIGNED_BYTE},
	texel.Depth16:     {gl45.DEPTH_COMPONENT16, gl45.DEPTH_COMPONENT, gl45.UNSIGNED_SHORT},
	texel.Depth32F:    {gl45.DEPTH_COMPONENT32F, gl45.DEPTH_COMPONENT, gl45.FLOAT},
}
