import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import type { ToolContext } from '../../agent/tool.ts'
import { createWorkerProcesses } from '../../processes/worker-processes.ts'
import { createTool, type ToolBuild, type ToolDependencies, type ToolSpec } from '../builder.ts'
import { nameOf } from './name.ts'
import type { Chart, ChartRequest, Picture } from './render.ts'
import { toRows, type ChartRows } from './rows.ts'
import type { ChartAnswer } from './worker.ts'

const description =
  'Draws a chart from a Vega-Lite specification (version 6) and rows of data, as a picture that the user can download. Any chart of Vega-Lite: bars, ' +
  'lines, areas, points, pies (mark arc), box plots, heat maps, layers, facets, transforms. Nothing is loaded: the rows are given as `data`, or stand in spec.data.values.'

/** Of a specification and its data, as JSON. */
const maxCharacters = 20_000_000

const schema = {
  type: 'object',
  properties: {
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
      description:
        'The rows, or the name of a tool: then its last result in this conversation turn is charted, without being written out again.',
    },
    format: { type: 'string', enum: ['svg', 'png'], description: 'Default: both. `png` comes with the result as a picture.' },
  },
  required: ['spec'],
  additionalProperties: false,
}

export interface ChartLimits {
  /** For one chart, from the moment when a process takes it. */
  chartMs: number
  /** Without work for this long a process is ended: it holds about 100 MB. */
  idleMs: number
}

/** Twice what 100,000 rows take, and two hundred times what a chart takes that somebody looks at. */
const defaults: ChartLimits = { chartMs: 10_000, idleMs: 300_000 }
const maxRows = 100_000
/** Of both pictures: a large SVG, and pixels that can not be compressed. */
const maxPictureBytes = 96 * 1024 * 1024

/** Gives `{files, width, height, rows, warnings?}`: the first file's size in pixels, the number of rows given. */
export function createChart(spec: ToolSpec, deps: ToolDependencies, limits: Partial<ChartLimits> = {}): ToolBuild {
  const { chartMs, idleMs } = { ...defaults, ...limits }
  const processes = createWorkerProcesses<ChartRequest, ChartAnswer>({
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
      timedOut: `The chart took longer than ${chartMs / 1000} s to draw: aggregate its data, or show less at a time.`,
      outOfMemory: 'The chart needs too much memory: aggregate its data, or show less at a time.',
      crashed: 'What draws charts stopped unexpectedly.',
      closed: 'The tool is closed.',
    },
  })
  let isTold = false

  async function draw(request: ChartRequest, { signal, caller }: ToolContext): Promise<Chart> {
    const answer = await processes.ask(request, signal, caller)
    if ('error' in answer) throw new Error(answer.error)
    if (answer.hasFonts || !request.png) return answer.chart
    if (!isTold)
      deps.log.warn({ tool: spec.name }, 'No font is installed: charts as PNG have no text. Install one (fonts-dejavu-core, for instance)')
    isTold = true
    const note = 'The PNG shows no text, since this server has no fonts; the SVG does.'
    return { ...answer.chart, warnings: [note, ...answer.chart.warnings] }
  }

  async function execute(input: JsonObject, context: ToolContext): Promise<JsonValue> {
    const given = rowsOf(input, context)
    const text = JSON.stringify({ spec: input['spec'], ...(given && { rows: given.rows }) })
    if (text.length > maxCharacters)
      throw new Error(`The specification and its data have ${text.length} characters; there may be ${maxCharacters}.`)
    const { format } = input
    const chart = await draw({ text, svg: format !== 'png', png: format !== 'svg' }, context)
    const name = nameOf(input['spec'] as JsonObject)
    const files = [
      ...(chart.png ? [await keep(context, { name: `${name}.png`, type: 'image/png', isReturned: format === 'png' }, chart.png)] : []),
      ...(chart.svg ? [await keep(context, { name: `${name}.svg`, type: 'image/svg+xml', isReturned: false }, chart.svg)] : []),
    ]
    const warnings = [...(given?.note === undefined ? [] : [given.note]), ...chart.warnings]
    context.log(`Made ${files.map((file) => String(file['file_name'])).join(' and ')}.`)
    const { width = 0, height = 0 } = files[0] ?? {}
    return { files, width, height, rows: given?.rows.length ?? inlineRows(input['spec']), ...(warnings.length > 0 && { warnings }) }
  }

  const tool = createTool(spec, { description, schema, effect: 'read', filters: false, execute })
  return { tool, close: processes.close }
}

/** What the process may do, should a specification find a way out of its expressions: read its own program, and nothing else. */
function restrictions(): string[] {
  const sources = fileURLToPath(new URL('../..', import.meta.url))
  const root = path.dirname(sources)
  const packages = fileURLToPath(import.meta.resolve('vega-lite')).replace(/([/\\]node_modules)[/\\](?!.*[/\\]node_modules[/\\]).*$/, '$1')
  const readable = [sources, path.join(root, 'package.json'), path.join(root, 'node_modules'), packages]
  const allowed = readable.map((place) => `--allow-fs-read=${place}`)
  return ['--permission', '--allow-addons', '--disallow-code-generation-from-strings', ...allowed]
}

interface ChartFile {
  name: string
  type: string
  /** A model that sees is shown the picture. */
  isReturned: boolean
}

async function keep(context: ToolContext, { name, type, isReturned }: ChartFile, { bytes, width, height }: Picture): Promise<JsonObject> {
  const { id, name: kept, type: fileType, size } = await context.artifact(name, type, bytes, { isReturned })
  return { artifact_id: id, file_name: kept, file_type: fileType, size, width, height }
}

function rowsOf({ data }: JsonObject, { latestOutput }: ToolContext): ChartRows | undefined {
  if (data === undefined) return undefined
  const isName = typeof data === 'string' && !/^\s*[[{]/.test(data)
  const output = isName ? latestOutput(data) : data
  if (output === undefined)
    throw new Error(`${String(data)} has given nothing in this run that could be charted: call it first, or give the rows as \`data\`.`)
  const found = toRows(output)
  if (!found)
    throw new Error(
      isName
        ? `The result of ${data} is no list of rows: give the rows as \`data\`.`
        : 'data must be a list of rows, or the name of a tool.',
    )
  if (found.rows.length === 0) throw new Error('There are no rows to chart.')
  if (found.rows.length > maxRows)
    throw new Error(`There are ${found.rows.length} rows; at most ${maxRows} can be charted. Aggregate them first.`)
  return found
}

function inlineRows(spec: JsonValue | undefined): number {
  const { values } = ((spec as JsonObject)['data'] ?? {}) as JsonObject
  return Array.isArray(values) ? values.length : 0
}
