import path from 'node:path'
import type { Part } from '../processes.ts'
import { connectProfiler, profilerEnv, type Profiler } from '../profile/profiler.ts'
import { number, type Figure } from '../report.ts'
import { makeFolder, startService, untilToolsReady, writeAgent } from '../service.ts'
import { connectTo, measureRound, serviceSide, type Bench } from '../sides.ts'

const clients = 64
/** A function that V8 has not compiled yet allocates more. */
const warmUpRounds = 4
const profiledRounds = 2

const loads = [
  { label: 'JSON chat of 8 tokens', order: 'bench:short', tools: [], aimKb: 60 },
  { label: 'chat with 1 tool call', order: 'bench:tools 1', tools: ['current_time'], aimKb: undefined },
]

/** What a chat allocates on the heap of the service: all objects, also those that garbage collection has freed meanwhile. */
export async function allocation({ model, seconds }: { model: Part; seconds: number }): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const { label, order, tools, aimKb } of loads) {
    const kb = await allocatedKb(model, seconds, tools, order)
    const aim = aimKb === undefined ? {} : { aim: `<= ${aimKb} KB`, isMet: kb <= aimKb }
    figures.push({ label: `allocated per ${label}, ${clients} clients`, service: number(kb, 'KB'), ...aim })
  }
  return figures
}

async function allocatedKb(model: Part, seconds: number, tools: string[], order: string): Promise<number> {
  const { folder, remove } = await makeFolder()
  try {
    await writeAgent(folder, Number(model.firstLine), tools)
    const service = await startService(folder, { env: profilerEnv })
    await untilToolsReady(service)
    const side = serviceSide(service)
    const profiler = await connectProfiler(path.join(folder, 'log'))
    const kb = await kbPerChat({ relay: side, service: side, model, seconds }, profiler, order)
    profiler.close()
    await service.part.stop()
    return kb
  } finally {
    await remove()
  }
}

async function kbPerChat(bench: Bench, profiler: Profiler, order: string): Promise<number> {
  const { service } = bench
  const open = connectTo(service, service.json.end, clients)
  const request = service.json.request(order)
  for (let round = 0; round < warmUpRounds; round++) await measureRound(bench, service, open, request)
  await profiler.startHeap()
  const { latencies } = await measureRound({ ...bench, seconds: bench.seconds * profiledRounds }, service, open, request)
  const bytes = await profiler.stopHeap()
  for (const client of open) client.close()
  return bytes / latencies.length / 1024
}
