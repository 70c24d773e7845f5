import type { JsonObject, ToolMessage } from '../src/agent/messages.ts'
import type { ToolOffer } from '../src/agent/model.ts'
import { rowsOf } from './sql/facts.ts'
import { findWith } from './tools.ts'
import type { Call } from './work.ts'

const chartWords = /\b(draw|charts?|plots?|plotted|graphs?|diagrams?|visuali[sz]e|pie)\b/i
const overTime = /date|month|year|day|week|quarter|time/i

/** The call that draws a table of figures, if the request asks for a chart and there is a tool for Vega-Lite. */
export function chooseChart(request: string, tools: readonly ToolOffer[], figures: ToolMessage): Call | undefined {
  const tool = findWith(tools, 'spec', 'data')
  const word = chartWords.exec(request)?.[0]
  const spec = tool?.description.includes('Vega-Lite') && word !== undefined ? toSpec(request, figures) : undefined
  return tool && spec && { tool, input: { spec, data: figures.name }, evidence: [word!] }
}

/** Creates a Vega-Lite specification; undefined if the table has fewer than two rows or no figures. */
function toSpec(request: string, figures: ToolMessage): JsonObject | undefined {
  const { columns, rows } = rowsOf(figures) ?? { columns: [], rows: [] }
  const isFigure = (at: number) => rows.every((row) => typeof row[at] === 'number' || row[at] === null)
  const measured = columns.findIndex((_, at) => isFigure(at) && at > 0)
  const [category, series] = columns.filter((_, at) => at !== measured && (at === 0 || !isFigure(at)))
  if (rows.length < 2 || measured === -1 || category === undefined) return undefined
  const y = columns[measured]!
  const title = `${toWords(y)} by ${toWords(category).toLowerCase()}`
  const figure = { field: y, type: 'quantitative', title: toWords(y) }
  const group = { field: category, type: 'nominal', title: toWords(category), sort: null }
  if (/\bpie\b/i.test(request)) return { title, mark: 'arc', encoding: { theta: figure, color: group } }
  const isLine = /\blines?\b/i.test(request) || (overTime.test(category) && !/\bbars?\b/i.test(request))
  const color = series === undefined ? undefined : { field: series, type: 'nominal', title: toWords(series) }
  return {
    title,
    mark: isLine ? { type: 'line', point: true } : 'bar',
    encoding: { x: { ...group, type: 'ordinal' }, y: figure, ...(color ? { color } : {}) },
  }
}

function toWords(column: string): string {
  const words = column.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
