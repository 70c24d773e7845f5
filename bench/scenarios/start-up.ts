import { residentMb } from '../processes.ts'
import { number, type Figure } from '../report.ts'
import { makeFolder, startService, untilToolsReady } from '../service.ts'
import { quantile } from '../sides.ts'

const repeats = 3

/** Measures the first start, which creates all files with the sample agent and tools, and later starts. */
export async function startUp(): Promise<Figure[]> {
  const { folder, remove } = await makeFolder()
  try {
    const first = await startOnce(folder)
    const laterStarts: StartTimes[] = []
    for (let repeat = 0; repeat < repeats; repeat++) laterStarts.push(await startOnce(folder))
    const median = (pick: (start: StartTimes) => number) => quantile(laterStarts.map(pick), 0.5)
    return [
      { label: 'first start until /health answers', service: number(first.healthyMs, 'ms') },
      { label: '  until its tools are ready', service: number(first.toolsMs, 'ms') },
      {
        label: 'later starts until /health answers, median',
        service: number(
          median((start) => start.healthyMs),
          'ms',
        ),
      },
      {
        label: '  until its tools are ready',
        service: number(
          median((start) => start.toolsMs),
          'ms',
        ),
      },
      {
        label: '  memory after the start',
        service: number(
          median((start) => start.memoryMb),
          'MB',
        ),
      },
    ]
  } finally {
    await remove()
  }
}

interface StartTimes {
  healthyMs: number
  toolsMs: number
  memoryMb: number
}

async function startOnce(folder: string): Promise<StartTimes> {
  const startedAt = performance.now()
  const service = await startService(folder)
  await untilToolsReady(service)
  const toolsMs = performance.now() - startedAt
  const memoryMb = residentMb(service.part.pid) ?? NaN
  await service.part.stop()
  return { healthyMs: service.healthyMs, toolsMs, memoryMb }
}
