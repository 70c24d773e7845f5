import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/** A node of V8's processor profile: a function in the stack that `children` leads to. */
export interface ProfileNode {
  id: number
  callFrame: { functionName: string; url: string }
  children?: number[]
}

/** V8's processor profile. `samples` are ids of the innermost functions, `timeDeltas` the microseconds before each sample. */
export interface CpuProfile {
  nodes: ProfileNode[]
  samples: number[]
  timeDeltas: number[]
}

export interface Profiler {
  start(): Promise<void>
  stop(): Promise<CpuProfile>
  /** Begins to count what is allocated on the heap. */
  startHeap(): Promise<void>
  /** Bytes that were allocated since `startHeap`, from a sample every 32 KB. */
  stopHeap(): Promise<number>
  close(): void
}

const sampleUs = 500
const heapSampling = {
  samplingInterval: 32_768,
  includeObjectsCollectedByMajorGC: true,
  includeObjectsCollectedByMinorGC: true,
}

/** A function of a heap profile, with the functions that it has called. */
interface HeapNode {
  selfSize: number
  children: HeapNode[]
}

function sizeOf({ selfSize, children }: HeapNode): number {
  return children.reduce((sum, child) => sum + sizeOf(child), selfSize)
}

/** Environment of a process that `connectProfiler` can profile. */
export const profilerEnv = { NODE_OPTIONS: '--inspect=127.0.0.1:0' }

/** Connects to the inspector of a process that was started with `profilerEnv`; `logFile` has its standard error. */
export async function connectProfiler(logFile: string): Promise<Profiler> {
  const socket = new WebSocket(await inspectorUrl(logFile))
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve, { once: true })
    socket.addEventListener('error', () => reject(new Error('The inspector of the service refused the connection.')), { once: true })
  })
  const pending = new Map<number, (result: unknown) => void>()
  socket.addEventListener('message', ({ data }) => {
    const { id, result } = JSON.parse(String(data)) as { id: number; result: unknown }
    pending.get(id)?.(result)
    pending.delete(id)
  })
  let lastId = 0
  const call = (method: string, params: object = {}): Promise<unknown> => {
    const id = ++lastId
    socket.send(JSON.stringify({ id, method, params }))
    return new Promise((resolve) => pending.set(id, resolve))
  }
  await call('Profiler.enable')
  await call('Profiler.setSamplingInterval', { interval: sampleUs })
  return {
    start: async () => void (await call('Profiler.start')),
    stop: async () => ((await call('Profiler.stop')) as { profile: CpuProfile }).profile,
    startHeap: async () => void (await call('HeapProfiler.startSampling', heapSampling)),
    stopHeap: async () => sizeOf(((await call('HeapProfiler.stopSampling')) as { profile: { head: HeapNode } }).profile.head),
    close: () => socket.close(),
  }
}

async function inspectorUrl(logFile: string): Promise<string> {
  for (;;) {
    const url = /ws:\/\/\S+/.exec(await readFile(logFile, 'utf8'))?.[0]
    if (url !== undefined) return url
    await sleep(pollMs)
  }
}

const pollMs = 20
