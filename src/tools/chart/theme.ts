import type { Config } from 'vega-lite'
import { isObject } from '../../json/shape.ts'
import type { Json } from './specification.ts'
import { normaliseText } from '../../agent/tool-names.ts'

/** Sans-serif fonts; most systems have at least one of them. A generic family alone may be rendered in any font. */
export const families = ['Helvetica', 'Arial', 'Liberation Sans', 'Noto Sans', 'DejaVu Sans', 'Inter', 'Roboto', 'Open Sans']

const ink = '#1f2937'
const muted = '#4b5563'
const line = '#e5e7eb'

/** Default look of charts. The `config` of a specification overrides each value. */
export const theme: Config = {
  background: 'white',
  padding: 16,
  // Font names have no quotes, because the PNG renderer does not find quoted font names.
  font: [...families, 'sans-serif'].join(', '),
  view: { continuousWidth: 480, continuousHeight: 300, discreteHeight: { step: 28 }, discreteWidth: { step: 40 }, stroke: null },
  title: {
    anchor: 'start',
    fontSize: 16,
    fontWeight: 'bold',
    color: ink,
    offset: 14,
    subtitleColor: muted,
    subtitleFontSize: 12,
    subtitlePadding: 5,
  },
  axis: {
    labelFontSize: 11,
    labelColor: muted,
    labelPadding: 5,
    labelLimit: 220,
    titleFontSize: 12,
    titleColor: ink,
    titleFontWeight: 'normal',
    titlePadding: 10,
    gridColor: line,
    domainColor: '#9ca3af',
    tickColor: '#9ca3af',
    tickSize: 4,
  },
  axisQuantitative: { domain: false, ticks: false },
  axisYQuantitative: { tickCount: 6 },
  axisBand: { grid: false },
  legend: {
    labelFontSize: 11,
    labelColor: muted,
    titleFontSize: 12,
    titleColor: ink,
    titleFontWeight: 'normal',
    labelLimit: 220,
    symbolLimit: 40,
    symbolSize: 80,
  },
  header: { labelFontSize: 12, labelColor: ink, titleFontSize: 12, titleColor: ink, titleFontWeight: 'normal', labelFontWeight: 'bold' },
  // The palette of Okabe and Ito, distinguishable for colour-blind people, with the blue first.
  range: { category: ['#2f6fb7', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#8b6cc1', '#7a7a7a', '#c9b800', '#3c4f76'] },
  mark: { color: '#2f6fb7' },
  bar: { cornerRadiusEnd: 2 },
  line: { strokeWidth: 2.25 },
  area: { opacity: 0.85 },
  point: { filled: true, size: 45 },
  arc: { stroke: 'white', strokeWidth: 1 },
  scale: { barBandPaddingInner: 0.25, bandPaddingOuter: 0.15 },
}

/** Width in pixels of all bands together, if no band gets narrower or wider than the limits. */
const width = 520
const [narrowest, widest] = [22, 88]
const maxLabels = 500
const labelSize = 11

/** The theme with a band width for the number of bands, and with horizontal labels if the labels fit. */
export function themeFor(spec: Json): Config {
  const axis = axisOf(spec)
  if (!axis) return theme
  const { labels, parts } = axis
  const specWidth = spec['width']
  const room = parts > 1 ? Math.min(640, Math.max(200, labels.length * parts * 34)) : width
  const bandWidth = Math.max(narrowest, parts > 1 ? room / labels.length : Math.min(widest, room / labels.length))
  const step = typeof specWidth === 'number' ? specWidth / labels.length : Math.round(bandWidth)
  const longest = Math.max(...labels.map((label) => textWidth(label, labelSize)))
  const labelAngle = longest <= step - 4 ? 0 : -40
  return { ...theme, view: { ...theme.view, discreteWidth: parts > 1 ? step * labels.length : { step } }, axisXDiscrete: { labelAngle } }
}

interface Axis {
  labels: string[]
  /** Number of bars side by side at each label. */
  parts: number
}

/** The labels of a discrete horizontal axis. Undefined for any other axis, or if the labels cannot be determined. */
function axisOf(spec: Json): Axis | undefined {
  const layers = Array.isArray(spec['layer']) ? spec['layer'] : []
  const encodings = [spec, ...layers].map((view) => (isObject(view) ? view['encoding'] : undefined)).filter(isObject)
  const x = encodings.map((encoding) => encoding['x']).find(isObject)
  const values = isObject(spec['data']) ? spec['data']['values'] : undefined
  if (!x || x['aggregate'] || x['bin'] || x['timeUnit'] || x['type'] === 'quantitative' || x['type'] === 'temporal') return undefined
  const labels = Array.isArray(values) ? distinct(values, x['field']) : []
  if (labels.length === 0 || labels.length > maxLabels) return undefined
  const offset = encodings.map((encoding) => encoding['xOffset']).find(isObject)
  return { labels, parts: offset ? Math.max(1, distinct(values as unknown[], offset['field']).length) : 1 }
}

function distinct(rows: readonly unknown[], field: unknown): string[] {
  if (typeof field !== 'string') return []
  return [...new Set(rows.flatMap((row) => (isObject(row) && row[field] !== undefined ? [String(row[field])] : [])))]
}

/**
 * Widths of characters in thousandths of the font size, for Helvetica and metrically compatible fonts. Vega measures text with a canvas, which is
 * not available here, or assumes 0.8 of the font size per character, which drops labels with enough room.
 */

const groups: readonly [number, string][] = [
  [222, "ijl'|‘’"],
  [278, 'It!,./:;[]\\ fı·'],
  [333, '-()r`“”„'],
  [400, '*"{}°'],
  [500, 'ckszvxyJ‐‑'],
  [556, 'abdeghnopqu0123456789L$?_#€£–'],
  [600, '+<=>~^±×÷'],
  [611, 'FTZ'],
  [667, 'AEBKPSVXY&'],
  [722, 'CDHNRUw'],
  [778, 'GOQ'],
  [833, 'Mm'],
  [889, '%'],
  [944, 'W'],
  [1000, '@—…'],
]

const widths: ReadonlyMap<string, number> = new Map(
  groups.flatMap(([width, characters]) => characters.split('').map((character) => [character, width])),
)

/** Fonts of many systems are wider than Helvetica. A label cut too early is better than overlapping labels. */
const allowance = 1.08
const boldAllowance = 1.07

/** Approximate width of a text in pixels. */
export function textWidth(text: string, fontSize: number, isBold = false): number {
  let sum = 0
  for (const character of normaliseText(text, 'NFD')) sum += widths.get(character) ?? unknownWidth(character)
  return Math.ceil((sum / 1000) * fontSize * allowance * (isBold ? boldAllowance : 1))
}

function unknownWidth(character: string): number {
  if (/\p{M}/u.test(character)) return 0
  // Ideographs, kana, hangul and emoji are square.
  return /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]|\p{Extended_Pictographic}/u.test(character) ? 1000 : 600
}
