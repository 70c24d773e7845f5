import { setTimeout as sleep } from 'node:timers/promises'
import { hammer } from '../load.ts'
import { cpuMs, openFileLimit, residentMb } from '../processes.ts'
import { number, type Figure } from '../report.ts'
import { connectTo, quantile, type Bench, type Side } from '../sides.ts'

/** Reading speed of a person. */
const readingTokensPerSecond = 5
/** Tokens per second of all streams together. More streams are slower, so that the processor does not limit the result. */
const maxTokensPerSecond = 10_000
/** How long all streams are open together. */
const togetherMs = 10_000
/** Streams that are opened at once; further streams follow in groups of the same size. */
const groupSize = 2000
const groupEveryMs = 1000
/** Allowed delay of the end of an answer, including the time to open a group at once. */
const lateMs = 2000
/** Highest resident memory in MB, by number of streams. */
const aimsOfPeakMb: Readonly<Record<number, number>> = { 2000: 300, 9700: 800 }
/** Resident memory of an open stream, in KB. */
const aimPerStreamKb = 25
/** Load before the measurement, after which all code is loaded and the heap has its working size. */
const warmUp = { clients: 64, seconds: 1, restMs: 1000 }

/** Time of a stream as a ratio to the relay's. */
const aimsOfTime = { p50: 1.05, p99: 1.2 }

interface SlowStreamsResult {
  /** Time of each answer, and the delay of its end, in milliseconds. */
  times: number[]
  lateness: number[]
  /** Resident memory before the load, the median while all streams are open, and the peak. */
  restMb: number
  openMb: number
  peakMb: number
  cpuShare: number
}

interface Plan {
  streams: number
  tokens: number
  everyMs: number
  lengthMs: number
}

/** Measures delay and memory with many slow streams at once, as with many people reading answers. */
export function slowStreams(streams: number): (bench: Bench) => Promise<Figure[]> {
  const everyMs = Math.ceil(1000 / Math.min(readingTokensPerSecond, maxTokensPerSecond / streams))
  const tokens = Math.ceil((togetherMs + openingMsOf(streams)) / everyMs)
  const plan = { streams, tokens, everyMs, lengthMs: tokens * everyMs }
  return async (bench) => {
    requireFiles(streams)
    return toFigures(plan, await run(bench.relay, plan), await run(bench.service, plan))
  }
}

/** A side has two sockets for each stream, and other files. Throws where the system permits fewer. */
function requireFiles(streams: number): void {
  const needed = 2 * streams + 500
  const limit = openFileLimit()
  if (limit < needed) throw new Error(`${streams} streams need ${needed} open files, but the limit is ${limit}: raise it with ulimit -n.`)
}

function openingMsOf(streams: number): number {
  return (Math.ceil(streams / groupSize) - 1) * groupEveryMs
}

function toFigures({ streams, everyMs, lengthMs }: Plan, relay: SlowStreamsResult, service: SlowStreamsResult): Figure[] {
  const label = `${streams} streams of ${number(1000 / everyMs)} tokens/s for ${lengthMs / 1000} s`
  const cells = (pick: (result: SlowStreamsResult) => number, unit?: string) => ({
    relay: number(pick(relay), unit),
    service: number(pick(service), unit),
  })
  const atMost = (pick: (result: SlowStreamsResult) => number, unit: string, aim: number | undefined) => ({
    ...cells(pick, unit),
    ratio: number(pick(service) / pick(relay)),
    ...(aim === undefined ? {} : { aim: `<= ${aim} ${unit}`, isMet: pick(service) <= aim }),
  })
  const lateCount = service.lateness.filter((ms) => ms > lateMs).length
  const timeAt = (name: 'p50' | 'p99', q: number): Figure => {
    const ratio = quantile(service.times, q) / quantile(relay.times, q)
    const aim = { aim: `<= ${aimsOfTime[name]}`, isMet: ratio <= aimsOfTime[name] }
    return { label: `  time of a stream, ${name}`, ...cells(({ times }) => quantile(times, q), 'ms'), ratio: number(ratio), ...aim }
  }
  const perStreamKb = ({ openMb, restMb }: SlowStreamsResult) => ((openMb - restMb) * 1024) / streams
  return [
    { label: `${label}: finished late, median`, ...cells(({ lateness }) => quantile(lateness, 0.5), 'ms') },
    {
      label: '  the latest',
      ...cells(({ lateness }) => quantile(lateness, 1), 'ms'),
      ratio: `${lateCount} late`,
      aim: `none > ${lateMs / 1000} s`,
      isMet: lateCount === 0,
    },
    timeAt('p50', 0.5),
    timeAt('p99', 0.99),
    { label: '  memory, before', ...cells(({ restMb }) => restMb, 'MB') },
    { label: '  memory, peak', ...atMost(({ peakMb }) => peakMb, 'MB', aimsOfPeakMb[streams]) },
    { label: '  memory per open stream', ...atMost(perStreamKb, 'KB', aimPerStreamKb) },
    { label: '  share of a core', ...cells(({ cpuShare }) => cpuShare) },
  ]
}

async function run(side: Side, { streams, tokens, everyMs, lengthMs }: Plan): Promise<SlowStreamsResult> {
  const { pid } = side.part
  const memory = () => residentMb(pid) ?? NaN
  await useOnce(side)
  const restMb = memory()
  const samplesMb: number[] = []
  const sampler = setInterval(() => samplesMb.push(memory()), sampleEveryMs)
  const request = side.stream.request(`bench:slow ${tokens} ${everyMs}`)
  const before = { at: performance.now(), cpu: cpuMs(pid) ?? NaN }
  const groups = Array.from({ length: Math.ceil(streams / groupSize) }, async (_, group) => {
    await sleep(group * groupEveryMs)
    const clients = connectTo(side, side.stream.end, Math.min(groupSize, streams - group * groupSize))
    return Promise.all(clients.map((client) => client.send(request).finally(() => client.close())))
  })
  const answers = (await Promise.all(groups)).flat()
  const cpuShare = ((cpuMs(pid) ?? NaN) - before.cpu) / (performance.now() - before.at)
  clearInterval(sampler)
  const times = answers.map(({ sentAt, endedAt }) => endedAt - sentAt)
  // The closing chunk adds an interval.
  const lateness = times.map((ms) => ms - lengthMs - everyMs)
  const together = samplesMb.slice(openingMsOf(streams) / sampleEveryMs, lengthMs / sampleEveryMs)
  return { times, lateness, restMb, openMb: quantile(together, 0.5), peakMb: Math.max(...samplesMb), cpuShare }
}

const sampleEveryMs = 100

async function useOnce(side: Side): Promise<void> {
  const clients = connectTo(side, side.stream.end, warmUp.clients)
  await hammer(clients, side.stream.request('bench:tokens 50'), warmUp.seconds)
  for (const client of clients) client.close()
  await sleep(warmUp.restMs)
}
