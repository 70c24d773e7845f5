import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import type { ToolContext } from '../../agent/tool.ts'
import { packageRoot } from '../../package-root.ts'
import { createQuestionPool } from '../../processes/question-pool.ts'
import { createTool, inputSchema, type ToolBuild, type ToolDependencies, type ToolSpec } from '../builder.ts'
import { nameOf, toRows, type ChartRows } from './rows.ts'
import type { Chart, ChartRequest, Picture } from './render.ts'
import type { ChartAnswer } from './worker.ts'

const description =
  'Draws a chart from a Vega-Lite specification (version 6) and rows of data, as a picture that the user can download. Any chart of Vega-Lite: bars, ' +
  'lines, areas, points, pies (mark arc), box plots, heat maps, layers, facets, transforms. Charts cannot load data from addresses: pass the rows as `data`, or write them into spec.data.values.'

/** Maximum size of a specification with data, as JSON. */
const maxCharacters = 20_000_000

const schema = inputSchema(
  {
    spec: {
      type: 'object',
      description:
        'For instance {"title": "Sales by region", "mark": "bar", "encoding": {"x": {"field": "region", "type": "nominal"}, "y": {"field": "amount", "type": "quantitative"}}}.',
    },
    data: {
      anyOf: [
        { type: 'array', items: { type: 'object' } },
        { type: 'string', maxLength: maxCharacters },
      ],
      description: 'The rows, or the name of a tool whose last result in this conversation turn is charted, without writing it out again.',
    },
    format: { type: 'string', enum: ['svg', 'png'], description: 'Default: both. `png` also returns the picture with the result.' },
  },
  ['spec'],
)

export interface ChartLimits {
  /** Time limit of a chart in milliseconds, from the moment when a process starts to work on the chart. */
  chartMs: number
  /** Milliseconds without work after which a process, which holds about 100 MB, is ended. */
  idleMs: number
}

/** 10 s is twice the time for 100,000 rows and two hundred times the time for a typical chart. */
const defaults: ChartLimits = { chartMs: 10_000, idleMs: 300_000 }
const maxRows = 100_000
/** Maximum size of both pictures: a large SVG, and a PNG of incompressible pixels. */
const maxPictureBytes = 96 * 1024 * 1024

/** Returns `{files, width, height, rows, warnings?}`: size of the first file in pixels, number of input rows. */
export function createChart(spec: ToolSpec, deps: ToolDependencies, limits: Partial<ChartLimits> = {}): ToolBuild {
  const { chartMs, idleMs } = { ...defaults, ...limits }
  const processes = createQuestionPool<ChartRequest, ChartAnswer>({
    module: new URL('./worker', import.meta.url),
    limits: { dataKb: 1_500_000, heapMb: 512, cpuSeconds: 300 },
    questionsPerProcess: 100,
    messages: { bytes: maxPictureBytes },
    nodeFlags: restrictions(),
    isIsolated: true,
    questionMs: chartMs,
    idleMs,
    maxProcesses: 2,
    errorTexts: {
      timedOut: `The chart took longer than ${chartMs / 1000} s to draw: aggregate its data, or show less data at a time.`,
      outOfMemory: 'The chart needs too much memory: aggregate its data, or show less data at a time.',
      crashed: 'The process that draws charts stopped unexpectedly.',
      closed: 'The tool is closed.',
    },
  })
  let hasWarned = false

  async function draw(request: ChartRequest, { signal, caller }: ToolContext): Promise<Chart> {
    const answer = await processes.ask(request, signal, caller)
    if ('error' in answer) throw new Error(answer.error)
    if (answer.hasFonts || !request.png) return answer.chart
    if (!hasWarned)
      deps.log.warn({ tool: spec.name }, 'No font is installed, so PNG charts have no text. Install a font, for instance fonts-dejavu-core')
    hasWarned = true
    const note = 'The PNG shows no text, since this server has no fonts. The SVG shows all text.'
    return { ...answer.chart, warnings: [note, ...answer.chart.warnings] }
  }

  async function execute(input: JsonObject, context: ToolContext): Promise<JsonValue> {
    const chartRows = rowsOf(input, context)
    const text = JSON.stringify({ spec: input['spec'], ...(chartRows && { rows: chartRows.rows }) })
    if (text.length > maxCharacters)
      throw new Error(`The specification and its data have ${text.length} characters, but at most ${maxCharacters} are allowed.`)
    const { format } = input
    const chart = await draw({ text, svg: format !== 'png', png: format !== 'svg' }, context)
    const name = nameOf(input['spec'] as JsonObject)
    const files = [
      ...(chart.png
        ? [await storeArtifact(context, { name: `${name}.png`, type: 'image/png', isReturned: format === 'png' }, chart.png)]
        : []),
      ...(chart.svg ? [await storeArtifact(context, { name: `${name}.svg`, type: 'image/svg+xml', isReturned: false }, chart.svg)] : []),
    ]
    const warnings = [...(chartRows?.note === undefined ? [] : [chartRows.note]), ...chart.warnings]
    context.log(`Created ${files.map((file) => String(file['file_name'])).join(' and ')}.`)
    const { width = 0, height = 0 } = files[0] ?? {}
    return { files, width, height, rows: chartRows?.rows.length ?? inlineRows(input['spec']), ...(warnings.length > 0 && { warnings }) }
  }

  const tool = createTool(spec, { description, schema, effect: 'read', execute })
  return { tool, close: processes.close }
}

/** Node permissions of the process, in case a specification breaks out of its expressions: read access to its own program only. */
function restrictions(): string[] {
  const sources = fileURLToPath(new URL('../..', import.meta.url))
  const packages = fileURLToPath(import.meta.resolve('@resvg/resvg-js')).replace(
    /([/\\]node_modules)[/\\](?!.*[/\\]node_modules[/\\]).*$/,
    '$1',
  )
  const readable = [sources, path.join(packageRoot, 'package.json'), path.join(packageRoot, 'node_modules'), packages]
  const allowed = readable.map((folder) => `--allow-fs-read=${folder}`)
  return ['--permission', '--allow-addons', '--disallow-code-generation-from-strings', ...allowed]
}

interface ChartFile {
  name: string
  type: string
  /** The picture is shown to a model with vision. */
  isReturned: boolean
}

async function storeArtifact(
  context: ToolContext,
  { name, type, isReturned }: ChartFile,
  { bytes, width, height }: Picture,
): Promise<JsonObject> {
  const { id, name: safeName, type: fileType, size } = await context.artifact(name, type, bytes, { isReturned })
  return { artifact_id: id, file_name: safeName, file_type: fileType, size, width, height }
}

function rowsOf({ data }: JsonObject, { latestOutput }: ToolContext): ChartRows | undefined {
  if (data === undefined) return undefined
  const isName = typeof data === 'string' && !/^\s*[[{]/.test(data)
  const output = isName ? latestOutput(data) : data
  if (output === undefined)
    throw new Error(`${String(data)} has returned no result in this run: call the tool first, or pass the rows as \`data\`.`)
  const chartRows = toRows(output)
  if (!chartRows)
    throw new Error(
      isName
        ? `The result of ${data} is not a list of rows: pass the rows as \`data\`.`
        : 'data must be a list of rows, or the name of a tool.',
    )
  if (chartRows.rows.length === 0) throw new Error('There are no rows to chart.')
  if (chartRows.rows.length > maxRows)
    throw new Error(`There are ${chartRows.rows.length} rows; at most ${maxRows} can be charted. Aggregate them first.`)
  return chartRows
}

function inlineRows(spec: JsonValue | undefined): number {
  const { values } = ((spec as JsonObject)['data'] ?? {}) as JsonObject
  return Array.isArray(values) ? values.length : 0
}
