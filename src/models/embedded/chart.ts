import type { JsonObject, JsonValue, ToolMessage } from '../../agent/messages.ts'
import type { ToolOffer } from '../../agent/model.ts'
import type { Choice } from './choose-tool.ts'

const chartWords = /\b(charts?|plots?|plotted|graphs?|diagrams?|visuali[sz]e|pie)\b/i
const overTime = /date|month|year|day|week|quarter|time/i

/** The call that draws a table of figures, if the request asks for a chart and there is a tool for Vega-Lite. */
export function chooseChart(request: string, tools: readonly ToolOffer[], figures: ToolMessage): Choice | undefined {
  const tool = chartWords.test(request) && !figures.isError ? tools.find(drawsCharts) : undefined
  const spec = tool && toSpec(request, figures.text)
  return spec && { tool, input: { spec, data: figures.name }, evidence: [chartWords.exec(request)![0]], score: 10 }
}

function drawsCharts({ description, schema }: ToolOffer): boolean {
  const names = Object.keys(schema['properties'] ?? {})
  return names.includes('spec') && names.includes('data') && description.includes('Vega-Lite')
}

/** Creates a Vega-Lite specification; undefined if the table has fewer than two rows or no figures. */
function toSpec(request: string, text: string): JsonObject | undefined {
  const { columns, rows } = parseRows(text)
  if (rows.length < 2) return undefined
  const isFigure = (at: number) => rows.every((row) => typeof row[at] === 'number' || row[at] === null)
  const measured = columns.findIndex((_, at) => isFigure(at) && at > 0)
  const [categoryIndex, seriesIndex] = [...columns.keys()].filter((at) => at !== measured && (at === 0 || !isFigure(at)))
  if (measured === -1 || categoryIndex === undefined) return undefined
  const [x, y] = [columns[categoryIndex]!, columns[measured]!]
  const title = `${toWords(y)} by ${toWords(x).toLowerCase()}`
  const figure = { field: y, type: 'quantitative', title: toWords(y) }
  const group = { field: x, type: 'nominal', title: toWords(x), sort: null }
  if (/\bpie\b/i.test(request)) return { title, mark: 'arc', encoding: { theta: figure, color: group } }
  const isLine = /\blines?\b/i.test(request) || (overTime.test(x) && !/\bbars?\b/i.test(request))
  const color: JsonObject =
    seriesIndex === undefined ? {} : { color: { field: columns[seriesIndex]!, type: 'nominal', title: toWords(columns[seriesIndex]!) } }
  return {
    title,
    mark: isLine ? { type: 'line', point: true } : 'bar',
    encoding: { x: { ...group, type: 'ordinal' }, y: figure, ...color },
  }
}

function parseRows(text: string): { columns: string[]; rows: JsonValue[][] } {
  try {
    const { columns, rows } = JSON.parse(text) as { columns?: unknown; rows?: unknown }
    if (Array.isArray(columns) && Array.isArray(rows) && rows.every(Array.isArray)) return { columns: columns.map(String), rows }
  } catch {
    // The result is cut off, or no table.
  }
  return { columns: [], rows: [] }
}

function toWords(column: string): string {
  const words = column.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
