import process from 'node:process'
import { freezeIntrinsics } from '../../processes/freeze-intrinsics.ts'
import type { WorkerMessage } from '../../processes/worker-processes.ts'
import { drawChart, findFont, setUp, type Chart, type ChartRequest } from './render.ts'
import { ChartFault } from './specification.ts'
import { messageOf } from '../../errors.ts'

/** A process for charts: told a `ChartRequest`, it answers one after another; it ends when its channel closes. */

export type ChartAnswer = { chart: Chart; hasFonts: boolean } | { error: string }

const longestError = 1_000

async function answer(request: ChartRequest): Promise<ChartAnswer> {
  try {
    return { chart: await drawChart(request, font), hasFonts: font !== undefined }
  } catch (error) {
    const message = messageOf(error).slice(0, longestError)
    return { error: error instanceof ChartFault ? message : `The chart can not be drawn: ${message}` }
  }
}

setUp()
const font = findFont()
// Most of Vega is made at its first use, which is not the time of anybody's chart.
const first = {
  mark: 'bar',
  data: { values: [{ a: 'b', c: 1 }] },
  encoding: { x: { field: 'a' }, y: { field: 'c', type: 'quantitative' } },
}
await answer({ text: JSON.stringify({ spec: first }), svg: false, png: true })
freezeIntrinsics()

process.on(
  'message',
  (request: ChartRequest) => void answer(request).then((told) => process.send?.(told satisfies WorkerMessage<ChartAnswer>)),
)
process.on('disconnect', () => process.exit(0))
process.send?.({ ready: true } satisfies WorkerMessage<ChartAnswer>)
