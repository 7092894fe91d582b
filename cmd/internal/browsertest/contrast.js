// The texts of a page whose contrast is below that of WCAG 2.1, success criterion 1.4.3:
// 4.5, or 3 for large text. Formulas: w3.org/TR/WCAG21/#dfn-relative-luminance and
// #dfn-contrast-ratio.
(() => {
  const parse = c => { const n = c.match(/[\d.]+/g).map(Number); return { r: n[0], g: n[1], b: n[2], a: n.length > 3 ? n[3] : 1 } }
  const over = (top, under) => ({ r: top.r * top.a + under.r * (1 - top.a), g: top.g * top.a + under.g * (1 - top.a), b: top.b * top.a + under.b * (1 - top.a), a: 1 })
  const channel = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4
  const luminance = c => 0.2126 * channel(c.r) + 0.7152 * channel(c.g) + 0.0722 * channel(c.b)
  const back = e => {
    const layers = []
    for (; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor))
    return layers.reverse().reduce((under, layer) => over(layer, under), { r: 255, g: 255, b: 255, a: 1 })
  }
  const poor = []
  let texts = 0
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement, style = getComputedStyle(e)
    const box = e.getBoundingClientRect()
    if (!walk.currentNode.data.trim() || box.width === 0 || style.visibility === "hidden" || ["STYLE", "SCRIPT"].includes(e.tagName)) continue
    texts++
    const under = back(e), text = over(parse(style.color), under)
    const [a, b] = [luminance(text), luminance(under)].sort((x, y) => y - x)
    const ratio = (a + 0.05) / (b + 0.05)
    const size = parseFloat(style.fontSize), large = size >= 24 || size >= 18.66 && parseInt(style.fontWeight) >= 700
    if (ratio < (large ? 3 : 4.5)) poor.push(`${walk.currentNode.data.trim().slice(0, 40)}: ${ratio.toFixed(2)} (${style.color})`)
  }
  return { texts, poor: [...new Set(poor)] }
})()
