import { residentMb } from '../processes.ts'
import { number, type Figure } from '../report.ts'
import { makeFolder, startService, untilToolsReady } from '../service.ts'
import { quantile } from '../sides.ts'

const repeats = 3

/** A first start, which makes everything with the sample agent and its tools, and starts after it. */
export async function startUp(): Promise<Figure[]> {
  const { folder, remove } = await makeFolder()
  try {
    const first = await startOnce(folder)
    const again: Start[] = []
    for (let repeat = 0; repeat < repeats; repeat++) again.push(await startOnce(folder))
    const median = (of: (one: Start) => number) => quantile(again.map(of), 0.5)
    return [
      { what: 'first start until /health answers', service: number(first.healthyMs, 'ms') },
      { what: '  until its tools are ready', service: number(first.toolsMs, 'ms') },
      {
        what: 'later starts until /health answers, median',
        service: number(
          median((one) => one.healthyMs),
          'ms',
        ),
      },
      {
        what: '  until its tools are ready',
        service: number(
          median((one) => one.toolsMs),
          'ms',
        ),
      },
      {
        what: '  memory after the start',
        service: number(
          median((one) => one.memoryMb),
          'MB',
        ),
      },
    ]
  } finally {
    await remove()
  }
}

interface Start {
  healthyMs: number
  toolsMs: number
  memoryMb: number
}

async function startOnce(folder: string): Promise<Start> {
  const startedAt = performance.now()
  const service = await startService(folder)
  await untilToolsReady(service)
  const toolsMs = performance.now() - startedAt
  const memoryMb = residentMb(service.part.pid) ?? NaN
  await service.part.stop()
  return { healthyMs: service.healthyMs, toolsMs, memoryMb }
}
