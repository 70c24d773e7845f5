import type { Config } from 'vega-lite'
import { isObject } from '../../json/shape.ts'
import type { Json } from './specification.ts'
import { textWidth } from './text-width.ts'
import { theme } from './theme.ts'

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
