import { freezeIntrinsics } from '../../processes/freeze-intrinsics.ts'
import { serveQuestions } from '../../processes/serve-questions.ts'
import { drawChart, findFont, setUp, type Chart, type ChartRequest } from './render.ts'
import { ChartFault } from './specification.ts'
import { messageOf } from '../../errors.ts'

/** Process for charts: answers each `ChartRequest` in order, and exits when its channel closes. */

export type ChartAnswer = { chart: Chart; hasFonts: boolean } | { error: string }

const maxErrorCharacters = 1_000

async function answer(request: ChartRequest): Promise<ChartAnswer> {
  try {
    return { chart: await drawChart(request, font), hasFonts: font !== undefined }
  } catch (error) {
    const message = messageOf(error).slice(0, maxErrorCharacters)
    return { error: error instanceof ChartFault ? message : `The chart cannot be drawn: ${message}` }
  }
}

setUp()
const font = findFont()
// Vega initializes lazily at its first use, which must not count against the time limit of a chart.
const warmUpSpec = {
  mark: 'bar',
  data: { values: [{ a: 'b', c: 1 }] },
  encoding: { x: { field: 'a' }, y: { field: 'c', type: 'quantitative' } },
}
await answer({ text: JSON.stringify({ spec: warmUpSpec }), svg: false, png: true })
freezeIntrinsics()
serveQuestions(answer)
